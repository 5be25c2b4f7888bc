package partage.assignor;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;

/** Random groups, and what an assignment of one is worth. */
final class Groups {
    private Groups() {
    }

    /** A group with different subscriptions, racks and owners. */
    static Group random(Random draw, int mostTopics, int mostPartitions, int mostMembers) {
        int topics = 1 + draw.nextInt(mostTopics);
        int[] first = new int[topics + 1];
        for (int topic = 0; topic < topics; topic++) {
            first[topic + 1] = first[topic] + 1 + draw.nextInt(mostPartitions);
        }
        int members = 1 + draw.nextInt(mostMembers);
        boolean alike = draw.nextInt(3) == 0;
        int[][] subscriptions = IntStream.range(0, members)
            .mapToObj(member -> IntStream.range(0, topics)
                .filter(topic -> alike || draw.nextInt(3) > 0).toArray())
            .toArray(int[][]::new);
        int[] memberRack = draw.ints(members, -1, 3).toArray();
        int[][] patterns = {{}, {0}, {1}, {0, 1}, {1, 2}, {3}};
        int[] pattern = draw.ints(first[topics], 0, patterns.length).toArray();
        int[] owner = new int[first[topics]];
        for (int topic = 0; topic < topics; topic++) {
            for (int partition = first[topic]; partition < first[topic + 1]; partition++) {
                int asked = draw.nextInt(members + 1) - 1;
                owner[partition] = asked >= 0 && has(subscriptions[asked], topic) ? asked : -1;
            }
        }
        int[] classOf = IntStream.range(0, members).toArray();
        return new Group(
            members, classOf, subscriptions, first, owner, memberRack, pattern, patterns);
    }

    static boolean has(int[] topics, int topic) {
        return Arrays.stream(topics).anyMatch(one -> one == topic);
    }

    static int topicOf(Group group, int partition) {
        int topic = 0;
        while (partition >= group.firstPartition()[topic + 1]) {
            topic++;
        }
        return topic;
    }

    static boolean subscribes(Group group, int member, int topic) {
        return has(group.classTopics()[group.classOf()[member]], topic);
    }

    /** Sum of squares of the loads, far partitions, moves, sum of squares per topic and member. */
    static long[] value(Group group, int[] answer) {
        long[] load = new long[group.members()];
        long[][] spread = new long[group.topics()][group.members()];
        long far = 0;
        long moves = 0;
        for (int partition = 0; partition < answer.length; partition++) {
            int member = answer[partition];
            if (member >= 0) {
                load[member]++;
                spread[topicOf(group, partition)][member]++;
                int[] racks = group.patterns()[group.pattern()[partition]];
                int rack = group.memberRack()[member];
                far += rack >= 0 && racks.length > 0 && !has(racks, rack) ? 1 : 0;
                moves += member == group.owner()[partition] ? 0 : 1;
            }
        }
        long squares = Arrays.stream(load).map(one -> one * one).sum();
        long even = Arrays.stream(spread).flatMapToLong(Arrays::stream).map(one -> one * one).sum();
        return new long[] {squares, far, moves, even};
    }
}
