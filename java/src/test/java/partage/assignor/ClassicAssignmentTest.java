package partage.assignor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class ClassicAssignmentTest {
    private final Map<String, Subscription> members = new HashMap<>();

    @Test
    void cooperativeMembersRevokeFirst() {
        join("a", null, 3, owned("t", 0, 1, 2, 3));
        join("b", null, -1, List.of());
        Map<String, List<TopicPartition>> first = assign(new CooperativeAssignor(), "t", 4);
        assertEquals(2, first.get("a").size());
        assertEquals(0, first.get("b").size());
        join("a", null, 4, first.get("a"));
        Map<String, List<TopicPartition>> second = assign(new CooperativeAssignor(), "t", 4);
        assertEquals(first.get("a"), second.get("a"));
        assertEquals(2, second.get("b").size());
    }

    @Test
    @SuppressWarnings("removal")
    void eagerMembersKeepWhatTheyRemember() {
        EagerAssignor last = new EagerAssignor();
        List<TopicPartition> held = owned("t", 1, 3);
        last.onAssignment(
            new Assignment(held), new ConsumerGroupMetadata("g", 7, "b", Optional.empty()));
        members.put("a", new Subscription(List.of("t"), null, List.of(), -1, Optional.empty()));
        members.put("b", new Subscription(
            List.of("t"), last.subscriptionUserData(Set.of("t")), List.of(), -1, Optional.empty()));
        assertEquals(held, assign(new EagerAssignor(), "t", 4).get("b"));
    }

    @Test
    void theHighestGenerationCountsAndEqualOnesDoNot() {
        join("a", null, 3, owned("t", 0, 1));
        join("b", null, 4, owned("t", 0));
        join("c", null, 4, owned("t", 2));
        join("d", null, 4, owned("t", 2));
        Map<String, List<TopicPartition>> found = assign(new CooperativeAssignor(), "t", 4);
        // 0 stays with b, which is reading it; 2 is withheld until c and d have revoked it
        assertEquals(owned("t", 1), found.get("a"));
        assertEquals(owned("t", 0), found.get("b"));
        found.values().forEach(list -> assertTrue(!list.contains(new TopicPartition("t", 2))));
    }

    @Test
    void aClaimToATopicThatIsNotSubscribedToContestsNoOther() {
        join("a", null, 3, owned("t", 0, 1));
        members.put("b", new Subscription(
            List.of("deleted"), null, owned("t", 0), 3, Optional.empty()));
        join("c", null, -1, List.of());
        join("d", null, -1, List.of());
        // 0 and 1 are a's; c and d get the others
        assertEquals(owned("t", 0, 1), assign(new CooperativeAssignor(), "t", 4).get("a"));
    }

    @Test
    void aRepeatedClaimDoesNotCountAgainstOthers() {
        join("a", null, 3, owned("t", 0));
        join("b", null, 3, owned("t", 0, 0, 1));
        Map<String, List<TopicPartition>> found = assign(new CooperativeAssignor(), "t", 2);
        // contested: withheld from both
        assertEquals(List.of(), found.get("a"));
        assertEquals(owned("t", 1), found.get("b"));
    }

    @Test
    void racksOfTheReplicasCount() {
        join("a", "y", -1, List.of());
        join("b", "x", -1, List.of());
        Map<String, List<TopicPartition>> found = assign(new EagerAssignor(), "t", 2);
        assertEquals(owned("t", 1), found.get("a"));
        assertEquals(owned("t", 0), found.get("b"));
    }

    @Test
    void damagedUserDataIsIgnored() {
        ByteBuffer whole = ClassicClaims.encode(new ClassicClaims.Remembered(owned("tä", 0, 5), 2));
        assertEquals(
            new ClassicClaims.Remembered(owned("tä", 0, 5), 2), ClassicClaims.decode(whole.duplicate()));
        for (int length = 0; length < whole.limit() - 4; length++) {
            ByteBuffer cut = whole.duplicate().limit(length);
            assertEquals(new ClassicClaims.Remembered(List.of(), -1), ClassicClaims.decode(cut));
        }
    }

    private void join(String id, String rack, int generation, List<TopicPartition> owned) {
        members.put(id, new Subscription(
            List.of("t", "deleted"), null, owned, generation, Optional.ofNullable(rack)));
    }

    private static List<TopicPartition> owned(String topic, int... numbers) {
        return IntStream.of(numbers).mapToObj(number -> new TopicPartition(topic, number)).toList();
    }

    /** The assignment of a topic whose partitions are in racks x and y in turn. */
    private Map<String, List<TopicPartition>> assign(
            ConsumerPartitionAssignor assignor, String topic, int partitions) {
        List<Node> nodes = List.of(new Node(0, "h", 1, "x"), new Node(1, "h", 2, "y"));
        List<PartitionInfo> infos = new ArrayList<>();
        for (int number = 0; number < partitions; number++) {
            Node[] replica = {nodes.get(number % 2)};
            infos.add(new PartitionInfo(topic, number, replica[0], replica, replica));
        }
        Cluster cluster = new Cluster("c", nodes, infos, Set.of(), Set.of());
        return assignor.assign(cluster, new GroupSubscription(members)).groupAssignment()
            .entrySet().stream().collect(Collectors.toMap(
                Map.Entry::getKey, one -> one.getValue().partitions(), (a, b) -> a, TreeMap::new));
    }
}
