import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A group member with Kafka's own consumer, for {@code live_groups.py --client java}.
 *
 * <p>It takes the same JSON as {@code partage.demo.traffic_client} and prints the same events. The
 * assignor is one of Kafka's, or uniform, the broker's, for the consumer protocol (KIP-848).
 */
public class JavaMember implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, String> CLASSES = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
    private static volatile boolean stopped;

    public static void main(String[] words) throws Exception {
        JsonNode spec = JSON.readTree(words[0]);
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException closed) {
                // as at its end
            }
            stopped = true;
        });
        input.setDaemon(true);
        input.start();
        try {
            consume(spec);
        } catch (RuntimeException problem) {
            report(event("failed").put("error", problem.toString()));
            throw problem;
        }
    }

    private static void consume(JsonNode spec) {
        Properties settings = new Properties();
        spec.get("settings").properties().forEach(
            one -> settings.put(one.getKey().replace('_', '.'), one.getValue().asText()));
        String assignor = spec.get("assignor").asText();
        if (assignor.equals("uniform")) {
            settings.remove("session.timeout.ms");
            settings.remove("heartbeat.interval.ms");
            settings.put("group.protocol", "consumer");
            settings.put("group.remote.assignor", assignor);
        } else {
            settings.put("partition.assignment.strategy", CLASSES.get(assignor));
        }
        settings.put("bootstrap.servers", spec.get("servers").asText());
        settings.put("group.id", spec.get("group").asText());
        settings.put("client.id", spec.get("name").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("auto.commit.interval.ms", "1000");
        settings.put("fetch.max.wait.ms", "100");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        TreeSet<String> topics = new TreeSet<>();
        spec.get("topics").fieldNames().forEachRemaining(topics::add);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(topics, new JavaMember());
            report(event("joins"));
            while (!stopped) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    long number = new BigInteger(record.key()).longValue();
                    ObjectNode event = event("read");
                    event.putArray("records").addArray()
                        .add(record.topic() + "-" + record.partition()).add(number).add(number);
                    report(event);
                }
            }
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        reportPartitions("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        reportPartitions("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        reportPartitions("lost", partitions);
    }

    private static void reportPartitions(String kind, Collection<TopicPartition> partitions) {
        List<String> names = partitions.stream().map(TopicPartition::toString).sorted().toList();
        report(event(kind).set("partitions", JSON.valueToTree(names)));
    }

    private static ObjectNode event(String kind) {
        return JSON.createObjectNode().put("at", System.currentTimeMillis() / 1e3).put("kind", kind);
    }

    private static synchronized void report(JsonNode event) {
        System.out.println(event);
    }
}
