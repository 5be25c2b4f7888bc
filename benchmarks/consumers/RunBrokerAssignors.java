import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;

/**
 * Asks an assignor of the broker (KIP-848) about one generated group: everyone joins, one member
 * leaves, another joins instead. A line of JSON per job: the seconds of the first and of the fastest
 * call, the loads, their squares, the moves, and the partitions near their member.
 *
 * <p>Arguments: CLASS TOPICS PARTITIONS MEMBERS alike|different REPEATS SEED. A partition has replicas
 * in two of three racks; members are in all three in turn. "different": a member subscribes to a
 * random two thirds of the topics.
 */
public final class RunBrokerAssignors {
    private static final int RACKS = 3;

    private final int topics;
    private final int partitions;
    private final boolean alike;
    private final Map<Uuid, Integer> number = new HashMap<>();
    private final List<Uuid> ids = new ArrayList<>();
    private final Random draw;

    private RunBrokerAssignors(int topics, int partitions, boolean alike, long seed) {
        this.topics = topics;
        this.partitions = partitions;
        this.alike = alike;
        draw = new Random(seed);
        for (int topic = 0; topic < topics; topic++) {
            Uuid id = new Uuid(draw.nextLong(), draw.nextLong());
            number.put(id, topic);
            ids.add(id);
        }
    }

    public static void main(String[] given) throws ReflectiveOperationException {
        ConsumerGroupPartitionAssignor assignor = (ConsumerGroupPartitionAssignor)
            Class.forName(given[0]).getDeclaredConstructor().newInstance();
        RunBrokerAssignors run = new RunBrokerAssignors(Integer.parseInt(given[1]),
            Integer.parseInt(given[2]), given[4].equals("alike"), Long.parseLong(given[6]));
        run.jobs(assignor, Integer.parseInt(given[3]), Integer.parseInt(given[5]));
    }

    private void jobs(ConsumerGroupPartitionAssignor assignor, int count, int repeats) {
        Map<String, Member> members = new LinkedHashMap<>();
        for (int member = 0; member < count; member++) {
            members.put(String.format("member-%06d", member), member(member, Map.of()));
        }
        Map<String, MemberAssignment> first = ask("fresh", assignor, members, repeats);
        Map<String, Member> kept = new LinkedHashMap<>();
        members.forEach((id, one) ->
            kept.put(id, new Member(one.subscribedTopicIds(), one.rackId(), first.get(id).partitions())));
        Member gone = kept.remove(String.format("member-%06d", count / 3));
        ask("one left", assignor, kept, repeats);
        kept.put("member-new", new Member(gone.subscribedTopicIds(), gone.rackId(), Map.of()));
        ask("one joined", assignor, kept, repeats);
    }

    private Member member(int at, Map<Uuid, Set<Integer>> held) {
        Set<Uuid> wanted = new HashSet<>();
        for (Uuid id : ids) {
            if (alike || draw.nextInt(3) > 0) {
                wanted.add(id);
            }
        }
        return new Member(wanted, Optional.of("rack-" + at % RACKS), held);
    }

    private Set<String> racks(Uuid id, int partition) {
        int first = (number.get(id) + partition) % RACKS;
        return Set.of("rack-" + first, "rack-" + (first + 1) % RACKS);
    }

    private Map<String, MemberAssignment> ask(String job, ConsumerGroupPartitionAssignor assignor,
            Map<String, Member> members, int repeats) {
        Spec group = new Spec(members, alike);
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid id) {
                return number.containsKey(id) ? partitions : -1;
            }

            @Override
            public Set<String> racksForPartition(Uuid id, int partition) {
                return racks(id, partition);
            }
        };
        double once = 0;
        double least = Double.POSITIVE_INFINITY;
        GroupAssignment found = null;
        for (int time = 0; time < repeats; time++) {
            long began = System.nanoTime();
            found = assignor.assign(group, describer);
            double seconds = (System.nanoTime() - began) / 1e9;
            once = time == 0 ? seconds : once;
            least = Math.min(least, seconds);
        }
        tell(job, members, found.members(), once, least);
        return found.members();
    }

    /** Counts the answer, partition by partition, without the assignor. */
    private void tell(String job, Map<String, Member> members, Map<String, MemberAssignment> found,
            double once, double least) {
        int given = 0;
        int moves = 0;
        int near = 0;
        int lowest = Integer.MAX_VALUE;
        int highest = 0;
        long squares = 0;
        boolean[] seen = new boolean[topics * partitions];
        boolean valid = true;
        for (Map.Entry<String, Member> one : members.entrySet()) {
            Member member = one.getValue();
            int load = 0;
            for (Map.Entry<Uuid, Set<Integer>> topic : found.get(one.getKey()).partitions().entrySet()) {
                Set<Integer> before = member.partitions().getOrDefault(topic.getKey(), Set.of());
                valid &= topic.getValue().isEmpty() || member.subscribedTopicIds().contains(topic.getKey());
                for (int partition : topic.getValue()) {
                    int at = number.get(topic.getKey()) * partitions + partition;
                    valid &= !seen[at];
                    seen[at] = true;
                    load++;
                    moves += before.contains(partition) ? 0 : 1;
                    near += racks(topic.getKey(), partition).contains(member.rackId().get()) ? 1 : 0;
                }
            }
            given += load;
            lowest = Math.min(lowest, load);
            highest = Math.max(highest, load);
            squares += (long) load * load;
        }
        System.out.printf(Locale.ROOT, "{\"job\": \"%s\", \"valid\": %b, \"partitions\": %d, "
            + "\"first\": %.6f, \"seconds\": %.6f, \"loads\": [%d, %d], \"squares\": %d, \"moves\": %d, "
            + "\"near\": %d}%n", job, valid && given == topics * partitions, given, once, least,
            lowest, highest, squares, moves, near);
    }

    /** Kafka's assignors take unmodifiable maps only. */
    private record Member(Set<Uuid> subscribedTopicIds, Optional<String> rackId,
            Map<Uuid, Set<Integer>> partitions) implements MemberSubscription, MemberAssignment {
        Member {
            partitions = Collections.unmodifiableMap(partitions);
        }

        @Override
        public Optional<String> instanceId() {
            return Optional.empty();
        }
    }

    /** Answers as the broker's own does: who owns what is looked up by topic. */
    private static final class Spec implements GroupSpec {
        private final Map<String, Member> members;
        private final boolean alike;
        private final Map<Uuid, Set<Integer>> owned = new HashMap<>();

        Spec(Map<String, Member> members, boolean alike) {
            this.members = members;
            this.alike = alike;
            members.values().forEach(member -> member.partitions().forEach((id, held) ->
                owned.computeIfAbsent(id, key -> new HashSet<>()).addAll(held)));
        }

        @Override
        public Collection<String> memberIds() {
            return members.keySet();
        }

        @Override
        public SubscriptionType subscriptionType() {
            return alike ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        }

        @Override
        public boolean isPartitionAssigned(Uuid id, int partition) {
            return owned.getOrDefault(id, Set.of()).contains(partition);
        }

        @Override
        public boolean isPartitionAssignable(Uuid id, int partition) {
            return true;
        }

        @Override
        public MemberSubscription memberSubscription(String member) {
            return members.get(member);
        }

        @Override
        public MemberAssignment memberAssignment(String member) {
            return members.get(member);
        }
    }
}
