package partage.assignor;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The broker's assignor for consumer groups (KIP-848), added to {@code group.consumer.assignors} and
 * chosen by consumers with {@code group.remote.assignor=partage}.
 *
 * <p>The fairest loads, then the most partitions with a replica in their member's rack
 * ({@code client.rack}), then the fewest moves from the current target assignment, then each topic
 * spread as evenly as possible. Never throws.
 */
public final class PartageAssignor implements ConsumerGroupPartitionAssignor {
    /** Its name. */
    public static final String NAME = "partage";

    private static final Logger LOG = LoggerFactory.getLogger(PartageAssignor.class);

    /** Made by the broker, by the name of the class. */
    public PartageAssignor() {
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber topics) {
        try {
            return decide(group, topics, topics::racksForPartition);
        } catch (RuntimeException problem) {
            LOG.warn("partage ignores racks", problem);
        }
        try {
            return decide(group, topics, (topic, partition) -> Set.of());
        } catch (RuntimeException problem) {
            LOG.warn("partage changes nothing", problem);
            Map<String, MemberAssignment> same = new HashMap<>();
            group.memberIds().forEach(id -> same.put(id, new Held(current(group, id))));
            return new GroupAssignment(same);
        }
    }

    private static GroupAssignment decide(
            GroupSpec group, SubscribedTopicDescriber topics, Input.Racks<Uuid> racks) {
        Map<String, Collection<Uuid>> subscriptions = new HashMap<>();
        Collection<Uuid> before = Set.of();
        for (String member : group.memberIds()) {
            Collection<Uuid> wanted = subscribed(group, member);
            // one object for equal subscriptions that follow each other
            before = wanted.equals(before) ? before : wanted;
            subscriptions.put(member, before);
        }
        Input<Uuid> input = new Input<>(subscriptions, topics::numPartitions);
        for (int member = 0; member < input.members.size(); member++) {
            String id = input.members.get(member);
            MemberSubscription subscription = group.memberSubscription(id);
            if (subscription != null) {
                input.setRack(member, subscription.rackId().orElse(null));
            }
            for (Map.Entry<Uuid, Set<Integer>> topic : current(group, id).entrySet()) {
                for (int partition : topic.getValue()) {
                    input.setOwner(member, topic.getKey(), partition);
                }
            }
        }
        Group positions = input.group(racks);
        return named(group, input, Decision.of(positions), positions.owner());
    }

    private static Collection<Uuid> subscribed(GroupSpec group, String member) {
        MemberSubscription subscription = group.memberSubscription(member);
        return subscription == null ? Set.of() : subscription.subscribedTopicIds();
    }

    private static Map<Uuid, Set<Integer>> current(GroupSpec group, String member) {
        MemberAssignment assignment = group.memberAssignment(member);
        return assignment == null ? Map.of() : assignment.partitions();
    }

    /** The assignment with names. A member that has the same as before keeps the same sets. */
    private static GroupAssignment named(
            GroupSpec group, Input<Uuid> input, int[] found, int[] owner) {
        int members = input.members.size();
        boolean[] changed = new boolean[members];
        int[] load = new int[members];
        for (int partition = 0; partition < found.length; partition++) {
            if (found[partition] >= 0) {
                load[found[partition]]++;
            }
            if (found[partition] != owner[partition]) {
                if (found[partition] >= 0) {
                    changed[found[partition]] = true;
                }
                if (owner[partition] >= 0) {
                    changed[owner[partition]] = true;
                }
            }
        }
        Map<String, MemberAssignment> answer = new HashMap<>();
        Held[] held = new Held[members];
        for (int member = 0; member < members; member++) {
            String id = input.members.get(member);
            Map<Uuid, Set<Integer>> same = current(group, id);
            // what was not valid must go, too
            if (!changed[member] && count(same) == load[member]) {
                answer.put(id, new Held(same));
            } else {
                held[member] = new Held(new HashMap<>());
                answer.put(id, held[member]);
            }
        }
        for (int topic = 0; topic < input.topics.size(); topic++) {
            int start = input.firstPartition[topic];
            for (int number = start; number < input.firstPartition[topic + 1]; number++) {
                if (found[number] >= 0 && held[found[number]] != null) {
                    held[found[number]].partitions()
                        .computeIfAbsent(input.topics.get(topic), key -> new HashSet<>())
                        .add(number - start);
                }
            }
        }
        return new GroupAssignment(answer);
    }

    private static int count(Map<Uuid, Set<Integer>> partitions) {
        return partitions.values().stream().mapToInt(Set::size).sum();
    }

    private record Held(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {
    }
}
