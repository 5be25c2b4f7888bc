package partage.assignor;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.TopicPartition;

/**
 * What the members of a classic group claim to own, and which claims count: a partition is its only
 * claimant's, or the one's with the highest generation; of several in that generation, nobody's.
 * Claims to topics that the member does not subscribe to do not count.
 *
 * <p>Eager members own nothing when they join; they remember their last assignment in the user data:
 * the number of topics, for each its name and its partitions, then the generation, as those of Kafka's
 * sticky assignor. What is not of this form is ignored.
 */
final class ClassicClaims {
    private record Claim(int member, int generation, boolean contested) {
    }

    private final Map<TopicPartition, Claim> claims = new HashMap<>();

    /** Adds what a member claims, in its fields or its user data. */
    void add(int member, Subscription subscription) {
        List<TopicPartition> owned = subscription.ownedPartitions();
        int generation = subscription.generationId().orElse(-1);
        if (owned.isEmpty() && subscription.userData() != null) {
            Remembered found = decode(subscription.userData().duplicate());
            owned = found.partitions;
            generation = found.generation;
        }
        Set<String> topics = Set.copyOf(subscription.topics());
        for (TopicPartition one : owned) {
            if (!topics.contains(one.topic())) {
                continue;
            }
            Claim mine = new Claim(member, generation, false);
            claims.merge(one, mine, (before, now) -> {
                if (before.generation != now.generation) {
                    return before.generation > now.generation ? before : now;
                }
                return new Claim(
                    member, now.generation, before.contested || before.member != member);
            });
        }
    }

    /** Sets the owners of a group. */
    void applyTo(Input<String> input) {
        claims.forEach((one, claim) -> {
            if (!claim.contested) {
                input.setOwner(claim.member, one.topic(), one.partition());
            }
        });
    }

    /** What a member remembers. */
    record Remembered(List<TopicPartition> partitions, int generation) {
    }

    static ByteBuffer encode(Remembered remembered) {
        Map<String, List<Integer>> topics = new TreeMap<>();
        for (TopicPartition one : remembered.partitions) {
            topics.computeIfAbsent(one.topic(), topic -> new ArrayList<>()).add(one.partition());
        }
        int size = 8;
        for (Map.Entry<String, List<Integer>> topic : topics.entrySet()) {
            size += 6 + topic.getKey().getBytes(StandardCharsets.UTF_8).length
                + 4 * topic.getValue().size();
        }
        ByteBuffer data = ByteBuffer.allocate(size).putInt(topics.size());
        topics.forEach((topic, numbers) -> {
            byte[] name = topic.getBytes(StandardCharsets.UTF_8);
            data.putShort((short) name.length).put(name).putInt(numbers.size());
            numbers.forEach(data::putInt);
        });
        return data.putInt(remembered.generation).flip();
    }

    static Remembered decode(ByteBuffer data) {
        List<TopicPartition> found = new ArrayList<>();
        try {
            for (int topics = data.getInt(); topics > 0; topics--) {
                byte[] name = new byte[Short.toUnsignedInt(data.getShort())];
                data.get(name);
                String topic = new String(name, StandardCharsets.UTF_8);
                for (int numbers = data.getInt(); numbers > 0; numbers--) {
                    found.add(new TopicPartition(topic, data.getInt()));
                }
            }
            return new Remembered(found, data.hasRemaining() ? data.getInt() : -1);
        } catch (BufferUnderflowException cut) {
            return new Remembered(List.of(), -1);
        }
    }
}
