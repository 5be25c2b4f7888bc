import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's own assignors, with the protocol of runners.py: a group per line on stdin, an answer per
 * line on stdout.
 *
 * <p>Claims are sent as the clients send them: sticky's as user data, cooperative-sticky's as fields.
 */
public class RunAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] words) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.flush();
        }
    }

    private static ObjectNode answer(JsonNode group) {
        ObjectNode answer = JSON.createObjectNode();
        String name = group.get("assignor").asText();
        Cluster cluster = cluster(group);
        try {
            double seconds = Double.POSITIVE_INFINITY;
            Map<String, Assignment> found = Map.of();
            for (int turn = 0; turn < group.path("repeat").asInt(1); turn++) {
                // new members each time: sticky consumes their user data
                Map<String, Subscription> members = new HashMap<>();
                for (JsonNode member : group.get("members")) {
                    members.put(
                        member.get("id").asText(), subscription(member, name.equals("sticky")));
                }
                long began = System.nanoTime();
                found = assignor(name)
                    .assign(cluster, new GroupSubscription(members)).groupAssignment();
                seconds = Math.min(seconds, (System.nanoTime() - began) / 1e9);
            }
            answer.put("seconds", seconds);
            ObjectNode assignment = answer.putObject("assignment");
            new TreeMap<>(found).forEach((id, given) -> {
                ArrayNode pairs = assignment.putArray(id);
                for (TopicPartition one : given.partitions()) {
                    pairs.addArray().add(one.topic()).add(one.partition());
                }
            });
        } catch (RuntimeException problem) {
            answer.removeAll();
            answer.put("error", problem.toString());
        }
        return answer;
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            case "cooperative-sticky": return new CooperativeStickyAssignor();
            default: throw new IllegalArgumentException(name);
        }
    }

    /** Topics whose partitions have a replica in each of their racks, one node a rack. */
    private static Cluster cluster(JsonNode group) {
        Map<String, Node> nodes = new LinkedHashMap<>();
        Node bare = new Node(0, "localhost", 9092);
        List<PartitionInfo> partitions = new ArrayList<>();
        group.get("topics").properties().forEach(topic -> {
            JsonNode racks = group.path("racks").path(topic.getKey());
            for (int number = 0; number < topic.getValue().asInt(); number++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks.path(number)) {
                    replicas.add(nodes.computeIfAbsent(rack.asText(),
                        text -> new Node(nodes.size() + 1, "localhost", 9092, text)));
                }
                if (replicas.isEmpty()) {
                    replicas.add(bare);
                }
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), number, all[0], all, all));
            }
        });
        List<Node> every = new ArrayList<>(nodes.values());
        every.add(bare);
        return new Cluster("cluster", every, partitions, Set.of(), Set.of());
    }

    private static Subscription subscription(JsonNode member, boolean inUserData) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        Map<String, List<Integer>> owned = new LinkedHashMap<>();
        List<TopicPartition> pairs = new ArrayList<>();
        for (JsonNode pair : member.path("owned")) {
            String topic = pair.get(0).asText();
            owned.computeIfAbsent(topic, t -> new ArrayList<>()).add(pair.get(1).asInt());
            pairs.add(new TopicPartition(topic, pair.get(1).asInt()));
        }
        int generation = member.path("generation").asInt(-1);
        Optional<String> rack = Optional.ofNullable(member.path("rack").textValue());
        Subscription made = inUserData
            ? new Subscription(topics, userData(owned, generation), List.of(), generation, rack)
            : new Subscription(topics, null, pairs, generation, rack);
        made.setGroupInstanceId(Optional.ofNullable(member.path("instance_id").textValue()));
        return made;
    }

    private static ByteBuffer userData(Map<String, List<Integer>> owned, int generation) {
        if (owned.isEmpty() && generation < 0) {
            return null;
        }
        int size = 8;
        for (Map.Entry<String, List<Integer>> topic : owned.entrySet()) {
            size += 6 + 4 * topic.getKey().length() + 4 * topic.getValue().size();
        }
        ByteBuffer data = ByteBuffer.allocate(size);
        data.putInt(owned.size());
        owned.forEach((topic, numbers) -> {
            byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            data.putShort((short) name.length).put(name).putInt(numbers.size());
            numbers.forEach(data::putInt);
        });
        data.putInt(generation);
        data.flip();
        return data;
    }
}
