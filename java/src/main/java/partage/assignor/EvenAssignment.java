package partage.assignor;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * An assignment with even loads, in time and memory that any group has: topic after topic, those with
 * the fewest subscribers first, fills up the least loaded of its subscribers, at first with what one
 * of them had. Members keep what they had, up to their share of the topic. Without different
 * subscriptions the loads are the fairest.
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
        List<Integer> order = IntStream.range(0, group.topics()).boxed()
            .filter(topic -> subscribers[topic] > 0)
            .sorted(Comparator.comparing(topic -> subscribers[topic]))
            .toList();
        // free ones last: where a member has left, the others do not each pass on what they had
        for (boolean owned : new boolean[] {true, false}) {
            for (int topic : order) {
                int[] able = IntStream.range(0, load.length)
                    .filter(member -> subscribes[group.classOf()[member]][topic]).toArray();
                assign(group, able, partitions(group, topic, able, owned), load, answer);
            }
        }
        return answer;
    }

    /** The partitions of a topic that one of its subscribers had, or the others. */
    private static int[] partitions(Group group, int topic, int[] able, boolean owned) {
        return IntStream.range(group.firstPartition()[topic], group.firstPartition()[topic + 1])
            .filter(partition -> Arrays.binarySearch(able, group.owner()[partition]) >= 0 == owned)
            .toArray();
    }

    private static void assign(
            Group group, int[] able, int[] partitions, int[] load, int[] answer) {
        int[] had = new int[able.length];
        for (int partition : partitions) {
            int at = Arrays.binarySearch(able, group.owner()[partition]);
            if (at >= 0) {
                had[at]++;
            }
        }
        int[] share = shares(able, load, had, partitions.length);
        for (int partition : partitions) {
            int at = Arrays.binarySearch(able, group.owner()[partition]);
            if (at >= 0 && share[at] > 0) {
                share[at]--;
                answer[partition] = group.owner()[partition];
            }
        }
        int next = 0;
        for (int partition : partitions) {
            if (answer[partition] < 0) {
                while (share[next] == 0) {
                    next++;
                }
                share[next]--;
                answer[partition] = able[next];
            }
        }
    }

    /** How many partitions each of the members takes, of equally loaded ones those first that had
     * some; adds them to the loads. */
    private static int[] shares(int[] able, int[] load, int[] had, int count) {
        Integer[] order = new Integer[able.length];
        Arrays.setAll(order, at -> at);
        Arrays.sort(order, Comparator.<Integer>comparingInt(at -> load[able[at]])
            .thenComparingInt(at -> -had[at]));
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
