package partage.assignor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.junit.jupiter.api.Test;

class PartageAssignorTest {
    private static final Uuid ORDERS = new Uuid(0, 1);
    private static final Uuid CLICKS = new Uuid(0, 2);
    private static final Uuid DELETED = new Uuid(0, 3);

    private final Spec group = new Spec();
    private final Topics topics = new Topics();
    private final PartageAssignor assignor = new PartageAssignor();

    @Test
    void loadsAreEvenAndOnlyWhatMustMoves() {
        topics.counts.putAll(Map.of(ORDERS, 4, CLICKS, 2));
        group.join("a", null, Map.of(ORDERS, Set.of(0, 1, 2, 3), CLICKS, Set.of(0)), ORDERS, CLICKS);
        group.join("b", null, Map.of(CLICKS, Set.of(1)), ORDERS, CLICKS);
        group.join("c", null, Map.of(), ORDERS, CLICKS);
        Map<String, MemberAssignment> found = assign();
        found.values().forEach(one -> assertEquals(2, count(one)));
        assertTrue(found.get("b").partitions().get(CLICKS).contains(1));
        // what stays optimal is the same object
        found.forEach((id, one) -> group.assignments.put(id, one));
        assign().forEach((id, one) -> assertSame(found.get(id).partitions(), one.partitions()));
    }

    @Test
    void racksComeBeforeMoves() {
        topics.counts.put(ORDERS, 2);
        topics.racks.put(0, Set.of("x"));
        topics.racks.put(1, Set.of("y"));
        group.join("a", "y", Map.of(ORDERS, Set.of(0)), ORDERS);
        group.join("b", "x", Map.of(ORDERS, Set.of(1)), ORDERS);
        assertEquals(Map.of(ORDERS, Set.of(1)), assign().get("a").partitions());
        assertEquals(Map.of(ORDERS, Set.of(0)), assign().get("b").partitions());
    }

    @Test
    void whatDoesNotExistIsLeftOut() {
        topics.counts.put(ORDERS, 2);
        group.join("a", null, Map.of(ORDERS, Set.of(0, 1, 7), DELETED, Set.of(0)), ORDERS, DELETED);
        group.join("b", null, Map.of(ORDERS, Set.of(0), CLICKS, Set.of(0)), ORDERS);
        Set<Integer> all = new TreeSet<>();
        assign().values().forEach(one -> {
            assertEquals(Set.of(ORDERS), one.partitions().keySet());
            assertEquals(1, count(one));
            all.addAll(one.partitions().get(ORDERS));
        });
        assertEquals(Set.of(0, 1), all);
    }

    @Test
    void anEmptyGroupGetsNothing() {
        assertEquals(Map.of(), assign());
        group.join("a", null, Map.of(), DELETED);
        assertEquals(Map.of(), assign().get("a").partitions());
    }

    @Test
    void badRacksAreIgnored() {
        topics.counts.put(ORDERS, 4);
        topics.failing = true;
        group.join("a", "x", Map.of(), ORDERS);
        group.join("b", "x", Map.of(), ORDERS);
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            assign().values().forEach(one -> assertEquals(2, count(one)));
        } finally {
            System.setErr(before);
        }
        // with Kafka's logger, so that it reaches the broker's log file; with the place in the code
        String warning = log.toString(StandardCharsets.UTF_8);
        assertTrue(warning.contains("WARN partage.assignor.PartageAssignor - partage ignores racks"));
        assertTrue(warning.contains("IllegalStateException: no racks" + System.lineSeparator() + "\tat "));
    }

    @Test
    void membersKeepWhatTheyHaveWhereNothingIsKnown() {
        group.join("a", null, Map.of(ORDERS, Set.of(0)), ORDERS);
        topics.counts = null;
        assertEquals(Map.of(ORDERS, Set.of(0)), assign().get("a").partitions());
    }

    private Map<String, MemberAssignment> assign() {
        return assignor.assign(group, topics).members();
    }

    private static int count(MemberAssignment assignment) {
        return assignment.partitions().values().stream().mapToInt(Set::size).sum();
    }

    private record Subscribed(
            Optional<String> rackId, Optional<String> instanceId, Set<Uuid> subscribedTopicIds)
            implements MemberSubscription {
    }

    private record Owned(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {
    }

    private static final class Spec implements GroupSpec {
        private final Map<String, MemberSubscription> subscriptions = new LinkedHashMap<>();
        private final Map<String, MemberAssignment> assignments = new HashMap<>();

        void join(String id, String rack, Map<Uuid, Set<Integer>> owned, Uuid... topics) {
            subscriptions.put(
                id, new Subscribed(Optional.ofNullable(rack), Optional.empty(), Set.of(topics)));
            assignments.put(id, new Owned(owned));
        }

        @Override
        public Collection<String> memberIds() {
            return subscriptions.keySet();
        }

        @Override
        public SubscriptionType subscriptionType() {
            return SubscriptionType.HETEROGENEOUS;
        }

        @Override
        public boolean isPartitionAssigned(Uuid topic, int partition) {
            return assignments.values().stream().anyMatch(
                one -> one.partitions().getOrDefault(topic, Set.of()).contains(partition));
        }

        @Override
        public boolean isPartitionAssignable(Uuid topic, int partition) {
            return true;
        }

        @Override
        public MemberSubscription memberSubscription(String id) {
            return subscriptions.get(id);
        }

        @Override
        public MemberAssignment memberAssignment(String id) {
            return assignments.get(id);
        }
    }

    private static final class Topics implements SubscribedTopicDescriber {
        private Map<Uuid, Integer> counts = new HashMap<>();
        private final Map<Integer, Set<String>> racks = new HashMap<>();
        private boolean failing;

        @Override
        public int numPartitions(Uuid topic) {
            return counts.getOrDefault(topic, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            if (failing) {
                throw new IllegalStateException("no racks");
            }
            return racks.getOrDefault(partition, Set.of());
        }
    }
}
