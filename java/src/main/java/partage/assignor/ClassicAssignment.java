package partage.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** The exact assignment of a group of the classic protocol, decided by the member that leads it. */
final class ClassicAssignment {
    private ClassicAssignment() {
    }

    /**
     * The partitions of each member. With {@code cooperative}, those that change their owner and that
     * another member must revoke first are given to nobody: it joins again when it has (KIP-429).
     */
    static Map<String, Assignment> of(
            Cluster cluster, Map<String, Subscription> members, boolean cooperative) {
        Map<String, Collection<String>> wanted = new HashMap<>();
        members.forEach((id, subscription) -> wanted.put(id, subscription.topics()));
        Input<String> input = new Input<>(wanted, topic -> {
            Integer count = cluster.partitionCountForTopic(topic);
            return count == null ? 0 : count;
        });
        ClassicClaims claims = new ClassicClaims();
        for (int member = 0; member < input.members.size(); member++) {
            Subscription subscription = members.get(input.members.get(member));
            input.setRack(member, subscription.rackId().orElse(null));
            claims.add(member, subscription);
        }
        claims.applyTo(input);
        Group group = input.group((topic, number) -> racks(cluster, topic, number));
        return named(
            input, Decision.of(group), group.owner(), cooperative ? held(members) : Map.of());
    }

    /** Who holds each partition by its own account, whether that counts or not. */
    private static Map<TopicPartition, Set<String>> held(Map<String, Subscription> members) {
        Map<TopicPartition, Set<String>> holders = new HashMap<>();
        members.forEach((id, subscription) -> subscription.ownedPartitions().forEach(
            one -> holders.computeIfAbsent(one, key -> new HashSet<>()).add(id)));
        return holders;
    }

    private static Set<String> racks(Cluster cluster, String topic, int partition) {
        PartitionInfo info = cluster.partition(new TopicPartition(topic, partition));
        if (info == null || info.replicas() == null) {
            return Set.of();
        }
        return Arrays.stream(info.replicas()).map(Node::rack).filter(Objects::nonNull)
            .collect(Collectors.toSet());
    }

    private static Map<String, Assignment> named(
            Input<String> input, int[] found, int[] owner, Map<TopicPartition, Set<String>> held) {
        Map<String, List<TopicPartition>> partitions = new HashMap<>();
        input.members.forEach(id -> partitions.put(id, new ArrayList<>()));
        for (int topic = 0; topic < input.topics.size(); topic++) {
            int start = input.firstPartition[topic];
            for (int number = start; number < input.firstPartition[topic + 1]; number++) {
                if (found[number] < 0) {
                    continue;
                }
                String member = input.members.get(found[number]);
                TopicPartition one = new TopicPartition(input.topics.get(topic), number - start);
                // an owner that stays goes on reading, whatever others claim
                if (found[number] == owner[number]
                        || Set.of(member).containsAll(held.getOrDefault(one, Set.of()))) {
                    partitions.get(member).add(one);
                }
            }
        }
        Map<String, Assignment> answer = new HashMap<>();
        partitions.forEach((id, list) -> answer.put(id, new Assignment(list)));
        return answer;
    }
}
