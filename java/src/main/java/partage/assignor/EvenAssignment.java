package partage.assignor;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * An assignment with even loads, in time and memory that any group has: topic after topic, those with
 * the fewest subscribers first, fills up the least loaded of its subscribers. Members keep what they
 * had, up to their share of the topic. Without different subscriptions the loads are the fairest.
 */
final class EvenAssignment {
    private EvenAssignment() {
    }

    /** The member of each partition, NOBODY where nobody subscribes to the topic. */
    static int[] assign(Group group) {
        int[] answer = new int[group.partitions()];
        Arrays.fill(answer, Group.NOBODY);
        boolean[][] subscribes = new boolean[group.classTopics().length][group.topics()];
        for (int one = 0; one < subscribes.length; one++) {
            for (int topic : group.classTopics()[one]) {
                subscribes[one][topic] = true;
            }
        }
        int[] load = new int[group.members()];
        int[] subscribers = new int[group.topics()];
        for (int member = 0; member < load.length; member++) {
            for (int topic : group.classTopics()[group.classOf()[member]]) {
                subscribers[topic]++;
            }
        }
        IntStream.range(0, group.topics()).boxed()
            .filter(topic -> subscribers[topic] > 0)
            .sorted(Comparator.comparing(topic -> subscribers[topic]))
            .forEach(topic -> {
                int[] able = IntStream.range(0, load.length)
                    .filter(member -> subscribes[group.classOf()[member]][topic]).toArray();
                assignTopic(group, topic, able, load, answer);
            });
        return answer;
    }

    private static void assignTopic(Group group, int topic, int[] able, int[] load, int[] answer) {
        int start = group.firstPartition()[topic];
        int end = group.firstPartition()[topic + 1];
        int[] share = shares(able, load, end - start);
        for (int partition = start; partition < end; partition++) {
            int owner = group.owner()[partition];
            int at = owner < 0 ? -1 : Arrays.binarySearch(able, owner);
            if (at >= 0 && share[at] > 0) {
                share[at]--;
                answer[partition] = owner;
            }
        }
        int next = 0;
        for (int partition = start; partition < end; partition++) {
            if (answer[partition] < 0) {
                while (share[next] == 0) {
                    next++;
                }
                share[next]--;
                answer[partition] = able[next];
            }
        }
    }

    /** How many partitions each of the members takes; adds them to the loads. */
    private static int[] shares(int[] able, int[] load, int count) {
        Integer[] order = new Integer[able.length];
        Arrays.setAll(order, at -> at);
        Arrays.sort(order, Comparator.comparing(at -> load[able[at]]));
        // the lowest members up to one level
        long sum = count;
        int low = 0;
        while (low < order.length && (long) load[able[order[low]]] * low < sum) {
            sum += load[able[order[low]]];
            low++;
        }
        int[] share = new int[able.length];
        for (int rank = 0; rank < low; rank++) {
            int at = order[rank];
            int level = (int) (sum / low + (rank < sum % low ? 1 : 0));
            share[at] = level - load[able[at]];
            load[able[at]] = level;
        }
        return share;
    }
}
