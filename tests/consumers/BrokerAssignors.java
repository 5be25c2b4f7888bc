import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Kafka's assignors of the group coordinator: a group per line on stdin, an answer per line on
 * stdout (see broker_assignors.py).
 *
 * <p>Topic ids ascend with the names, and members come into the coordinator's tables by id.
 */
public class BrokerAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] words) throws Exception {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode group) {
        TreeMap<String, Integer> partitions = new TreeMap<>();
        group.get("topics").properties()
            .forEach(topic -> partitions.put(topic.getKey(), topic.getValue().asInt()));
        List<String> names = new ArrayList<>(partitions.keySet());
        Map<String, Uuid> ids = new HashMap<>();
        names.forEach(name -> ids.put(name, new Uuid(0, ids.size())));

        TreeMap<String, JsonNode> sorted = new TreeMap<>();
        group.get("members").forEach(member -> sorted.put(member.get("id").asText(), member));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<String>> subscriptions = new HashSet<>();
        sorted.forEach((id, member) -> {
            Set<String> wanted = new TreeSet<>();
            member.get("topics").forEach(topic -> wanted.add(topic.asText()));
            subscriptions.add(wanted);
            Set<Uuid> subscribed = new HashSet<>();
            wanted.stream().filter(ids::containsKey).forEach(name -> subscribed.add(ids.get(name)));
            Map<Uuid, List<Integer>> listed = new HashMap<>();
            for (JsonNode pair : member.path("owned")) {
                Uuid topic = ids.get(pair.get(0).asText());
                int number = pair.get(1).asInt();
                listed.computeIfAbsent(topic, t -> new ArrayList<>()).add(number);
                owners.computeIfAbsent(topic, t -> new HashMap<>()).put(number, id);
            }
            Map<Uuid, Set<Integer>> held = new HashMap<>();
            listed.forEach((topic, numbers) -> {
                Collections.sort(numbers);
                held.put(topic, new HashSet<>(numbers));
            });
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(member.path("rack").textValue()),
                Optional.ofNullable(member.path("instance_id").textValue()),
                subscribed,
                new Assignment(held)));
        });
        SubscriptionType type = subscriptions.size() == 1
            ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        SubscribedTopicDescriber topics = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return partitions.get(names.get((int) topic.getLeastSignificantBits()));
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
        ObjectNode answer = JSON.createObjectNode();
        try {
            Map<String, ?> found = assignor(group.get("assignor").asText())
                .assign(new GroupSpecImpl(members, type, owners), topics).members();
            for (String id : sorted.keySet()) {
                ArrayNode pairs = answer.putArray(id);
                Object mine = found.get(id);
                if (mine == null) {
                    continue;
                }
                TreeMap<String, TreeSet<Integer>> held = new TreeMap<>();
                ((org.apache.kafka.coordinator.group.api.assignor.MemberAssignment) mine)
                    .partitions().forEach((topic, numbers) -> held.put(
                        names.get((int) topic.getLeastSignificantBits()), new TreeSet<>(numbers)));
                held.forEach((topic, numbers) ->
                    numbers.forEach(number -> pairs.addArray().add(topic).add(number)));
            }
            return JSON.createObjectNode().set("assignment", answer);
        } catch (RuntimeException problem) {
            return JSON.createObjectNode().put("error", problem.toString());
        }
    }

    private static PartitionAssignor assignor(String name) {
        switch (name) {
            case "uniform": return new UniformAssignor();
            case "range": return new RangeAssignor();
            case "share": return new SimpleAssignor();
            default: throw new IllegalArgumentException(name);
        }
    }
}
