import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.placement.UsableBroker;
import org.apache.kafka.tools.reassign.ReassignPartitionsCommand;

/**
 * Kafka itself: the calculation of {@code kafka-reassign-partitions.sh --generate} after it has read
 * the cluster. The method is private to the tool, so it is called by reflection.
 *
 * <p>Arguments and answer as in exchange.py: CLUSTER ANSWER REMOVED.
 */
public class RunKafka {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] words) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Set<String> removed = Arrays.stream(words[2].split(",")).collect(Collectors.toSet());
        long[] began = now();
        JsonNode cluster = json.readTree(new File(words[0]));
        List<UsableBroker> brokers = new ArrayList<>();
        for (JsonNode broker : cluster.get("brokers")) {
            if (!removed.contains(broker.get("id").asText())) {
                Optional<String> rack = Optional.ofNullable(broker.get("rack").textValue());
                brokers.add(new UsableBroker(broker.get("id").asInt(), rack, false));
            }
        }
        Map<TopicPartition, List<Integer>> before = new HashMap<>();
        List<TopicPartition> order = new ArrayList<>();
        for (JsonNode partition : cluster.get("partitions")) {
            TopicPartition name = new TopicPartition(
                partition.get("topic").asText(), partition.get("partition").asInt());
            List<Integer> replicas = new ArrayList<>();
            partition.get("replicas").forEach(id -> replicas.add(id.asInt()));
            before.put(name, replicas);
            order.add(name);
        }
        ObjectNode answer = json.createObjectNode();
        ObjectNode stages = answer.putObject("stages");
        put(stages, "read cluster", began);

        Method generate = ReassignPartitionsCommand.class.getDeclaredMethod(
            "calculateAssignment", Map.class, List.class);
        generate.setAccessible(true);
        began = now();
        Map<?, ?> after = (Map<?, ?>) generate.invoke(null, before, brokers);
        put(stages, "generate", began);

        ArrayNode lists = answer.putArray("replicas");
        for (TopicPartition name : order) {
            ArrayNode list = lists.addArray();
            ((List<?>) after.get(name)).forEach(id -> list.add((Integer) id));
        }
        json.writeValue(new File(words[1]), answer);
    }

    private static long[] now() {
        return new long[] {System.nanoTime(), SYSTEM.getProcessCpuTime()};
    }

    private static void put(ObjectNode stages, String name, long[] began) {
        long[] ended = now();
        stages.putObject(name)
            .put("seconds", (ended[0] - began[0]) / 1e9)
            .put("cpu_seconds", (ended[1] - began[1]) / 1e9);
    }
}
