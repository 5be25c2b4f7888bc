package partage.assignor;

import java.util.Arrays;

/**
 * The exact assignment: the fairest loads, then the most partitions near their members, then the
 * fewest moves, then each topic spread as evenly as possible over the members.
 *
 * <ol>
 *   <li>{@link PairCounts} decides how many partitions of each kind every member keeps and gets.
 *   <li>A first choice of the partitions: of those of a kind a member keeps the ones of topics of
 *       which it has few; free ones go round robin to the members, topic by topic.
 *   <li>{@link TopicSpread} balances the topics without changing loads, racks or moves.
 * </ol>
 *
 * <p>The same group gives the same assignment. An assignment that is already optimal is not changed.
 */
final class ExactAssignment {
    /** With more pairs of a kind and a member than this, memory would no longer be small. */
    static final int MOST_PAIRS = 8_000_000;

    private final Group group;
    private final Kinds kinds;
    private final int[] topicOf;
    private final int[] answer;

    private ExactAssignment(Group group, Kinds kinds) {
        this.group = group;
        this.kinds = kinds;
        topicOf = new int[group.partitions()];
        for (int topic = 0; topic < group.topics(); topic++) {
            Arrays.fill(topicOf, group.firstPartition()[topic], group.firstPartition()[topic + 1], topic);
        }
        answer = new int[group.partitions()];
        Arrays.fill(answer, Group.NOBODY);
    }

    /**
     * The member of each partition, NOBODY where nobody subscribes to the topic.
     *
     * @throws ArithmeticException if the group is too large
     */
    static int[] assign(Group group) {
        Kinds kinds = Kinds.of(group);
        if (kinds.pairs() > MOST_PAIRS) {
            throw new ArithmeticException(kinds.pairs() + " pairs of partitions and members");
        }
        ExactAssignment made = new ExactAssignment(group, kinds);
        made.decide();
        return made.answer;
    }

    private void decide() {
        if (kinds.kinds() == 0) {
            return;
        }
        int[] pairOf = new int[answer.length];
        int[] current = new int[kinds.pairs()];
        for (int partition = 0; partition < answer.length; partition++) {
            int kind = kinds.ofPartition[partition];
            int owner = group.owner()[partition];
            pairOf[partition] = kind < 0 || owner < 0 ? Group.NOBODY : kinds.pair(kind, owner);
            if (pairOf[partition] >= 0) {
                current[pairOf[partition]]++;
            }
        }
        PairCounts counts = new PairCounts(kinds, group.members(), current);
        keep(pairOf, current, counts.kept);
        give(counts.fresh);
        TopicSpread.improve(group, kinds, counts, topicOf, answer);
    }

    /** Each member keeps as many of its partitions of a kind as were decided. */
    private void keep(int[] pairOf, int[] current, int[] kept) {
        long[] choices = new long[answer.length];
        int some = 0;
        for (int partition = 0; partition < answer.length; partition++) {
            int pair = pairOf[partition];
            if (pair < 0 || kept[pair] == 0) {
                continue;
            }
            if (kept[pair] == current[pair]) {
                answer[partition] = group.owner()[partition];
            } else {
                choices[some++] = (long) pair << 32 | partition;
            }
        }
        Arrays.sort(choices, 0, some);
        for (int start = 0; start < some;) {
            int pair = (int) (choices[start] >>> 32);
            keepSome(choices, start, start + current[pair], kept[pair]);
            start += current[pair];
        }
    }

    /** Of a member's partitions of a kind: the lowest of each topic, then the second, and so on. */
    private void keepSome(long[] choices, int start, int end, int wanted) {
        long[] order = new long[end - start];
        int rank = 0;
        for (int at = start; at < end; at++) {
            int partition = (int) choices[at];
            boolean same = at > start && topicOf[(int) choices[at - 1]] == topicOf[partition];
            rank = same ? rank + 1 : 0;
            // so that members do not all give up the same topic
            int shifted = (topicOf[partition] + group.owner()[partition]) % group.topics();
            order[at - start] = ((long) rank * group.topics() + shifted) << 24 | (at - start);
        }
        Arrays.sort(order);
        for (int at = 0; at < wanted; at++) {
            int partition = (int) choices[start + (int) (order[at] & 0xffffff)];
            answer[partition] = group.owner()[partition];
        }
    }

    /** Free partitions of each kind go round robin to the members that get some. */
    private void give(int[] fresh) {
        int[][] free = freeByKind();
        for (int kind = 0; kind < free.length; kind++) {
            int[] ids = kinds.members[kind];
            long[] order = new long[ids.length];
            int getting = 0;
            for (int at = 0; at < ids.length; at++) {
                int come = fresh[kinds.first[kind] + at];
                if (come > 0) {
                    // those that get more first: a shorter round goes on where the last one ended
                    order[getting++] = (long) -come << 32 | at;
                }
            }
            Arrays.sort(order, 0, getting);
            int next = 0;
            for (int turn = 0; next < free[kind].length; turn++) {
                for (int at = 0; at < getting; at++) {
                    int place = (int) order[at];
                    if (fresh[kinds.first[kind] + place] <= turn) {
                        break;
                    }
                    answer[free[kind][next++]] = ids[place];
                }
            }
        }
    }

    private int[][] freeByKind() {
        int[] count = new int[kinds.kinds()];
        for (int partition = 0; partition < answer.length; partition++) {
            if (answer[partition] < 0 && kinds.ofPartition[partition] >= 0) {
                count[kinds.ofPartition[partition]]++;
            }
        }
        int[][] free = new int[count.length][];
        for (int kind = 0; kind < count.length; kind++) {
            free[kind] = new int[count[kind]];
        }
        for (int partition = answer.length - 1; partition >= 0; partition--) {
            int kind = kinds.ofPartition[partition];
            if (answer[partition] < 0 && kind >= 0) {
                free[kind][--count[kind]] = partition;
            }
        }
        return free;
    }
}
