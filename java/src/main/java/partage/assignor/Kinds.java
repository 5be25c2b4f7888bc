package partage.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Kinds of partitions: those of a kind have the same subscribers and are near to the same members.
 *
 * <p>A pair is a kind and a member that subscribes to it; the pairs of kind k are {@code first[k]} up
 * to {@code first[k + 1]}, with ascending members.
 */
final class Kinds {
    /** The kind of each partition, {@link Group#NOBODY} where nobody subscribes. */
    final int[] ofPartition;
    /** How many partitions each kind has. */
    final int[] count;
    /** The members of each kind, ascending; kinds with the same subscribers share the array. */
    final int[][] members;
    final int[] first;
    private final BitSet[] nearRacks;
    private final int[] memberRack;

    private Kinds(int[] ofPartition, int[][] members, BitSet[] nearRacks, int[] memberRack) {
        this.ofPartition = ofPartition;
        this.members = members;
        this.nearRacks = nearRacks;
        this.memberRack = memberRack;
        count = new int[members.length];
        for (int kind : ofPartition) {
            if (kind >= 0) {
                count[kind]++;
            }
        }
        first = new int[members.length + 1];
        for (int kind = 0; kind < members.length; kind++) {
            first[kind + 1] = Math.addExact(first[kind], members[kind].length);
        }
    }

    int kinds() {
        return members.length;
    }

    int pairs() {
        return first[members.length];
    }

    /** The pair of a kind and one of its members. */
    int pair(int kind, int member) {
        int[] ids = members[kind];
        // with all members subscribed, each is at its own position
        int at = ids.length == memberRack.length ? member : Arrays.binarySearch(ids, member);
        return first[kind] + at;
    }

    /** Whether the partitions of a kind have no replica in the member's rack, as far as is known. */
    boolean far(int kind, int member) {
        int rack = memberRack[member];
        return rack >= 0 && nearRacks[kind] != null && !nearRacks[kind].get(rack);
    }

    static Kinds of(Group group) {
        int[] column = columns(group);
        int columns = Arrays.stream(column).max().orElse(-1) + 1;
        int[][] subscribers = subscribers(group, column, columns);
        BitSet[] near = patternsThatMatter(group);
        Map<BitSet, Integer> signatures = new HashMap<>();
        int[] signature = new int[near.length];
        for (int at = 0; at < near.length; at++) {
            signature[at] = signatures.computeIfAbsent(
                near[at] == null ? new BitSet() : plusOne(near[at]), key -> signatures.size());
        }
        int width = Math.max(1, signatures.size());
        int[] ofPartition = new int[group.partitions()];
        int[] kindOf = new int[Math.multiplyExact(columns, width)];
        Arrays.fill(kindOf, Group.NOBODY);
        List<int[]> members = new ArrayList<>();
        List<BitSet> nearRacks = new ArrayList<>();
        for (int topic = 0; topic < group.topics(); topic++) {
            int start = group.firstPartition()[topic];
            int end = group.firstPartition()[topic + 1];
            if (column[topic] < 0) {
                Arrays.fill(ofPartition, start, end, Group.NOBODY);
                continue;
            }
            for (int partition = start; partition < end; partition++) {
                int pattern = group.pattern()[partition];
                int code = column[topic] * width + signature[pattern];
                if (kindOf[code] < 0) {
                    kindOf[code] = members.size();
                    members.add(subscribers[column[topic]]);
                    nearRacks.add(near[pattern]);
                }
                ofPartition[partition] = kindOf[code];
            }
        }
        return new Kinds(
            ofPartition, members.toArray(new int[0][]), nearRacks.toArray(new BitSet[0]),
            group.memberRack());
    }

    /** For each topic its set of subscribing classes, numbered; negative where it is empty. */
    private static int[] columns(Group group) {
        BitSet[] classes = new BitSet[group.topics()];
        for (int one = 0; one < group.classTopics().length; one++) {
            for (int topic : group.classTopics()[one]) {
                if (classes[topic] == null) {
                    classes[topic] = new BitSet();
                }
                classes[topic].set(one);
            }
        }
        Map<BitSet, Integer> known = new HashMap<>();
        int[] column = new int[classes.length];
        for (int topic = 0; topic < classes.length; topic++) {
            column[topic] = classes[topic] == null
                ? Group.NOBODY
                : known.computeIfAbsent(classes[topic], key -> known.size());
        }
        return column;
    }

    private static int[][] subscribers(Group group, int[] column, int columns) {
        BitSet[] open = new BitSet[columns];
        BitSet[] columnsOf = new BitSet[group.classTopics().length];
        for (int one = 0; one < columnsOf.length; one++) {
            columnsOf[one] = new BitSet(columns);
            for (int topic : group.classTopics()[one]) {
                columnsOf[one].set(column[topic]);
            }
        }
        for (int member = 0; member < group.members(); member++) {
            BitSet wanted = columnsOf[group.classOf()[member]];
            for (int at = wanted.nextSetBit(0); at >= 0; at = wanted.nextSetBit(at + 1)) {
                if (open[at] == null) {
                    open[at] = new BitSet(group.members());
                }
                open[at].set(member);
            }
        }
        int[][] found = new int[columns][];
        for (int at = 0; at < columns; at++) {
            found[at] = open[at].stream().toArray();
        }
        return found;
    }

    /** The racks of members in each pattern; null where it makes no difference to any member. */
    private static BitSet[] patternsThatMatter(Group group) {
        BitSet ofMembers = new BitSet();
        for (int rack : group.memberRack()) {
            if (rack >= 0) {
                ofMembers.set(rack);
            }
        }
        BitSet[] near = new BitSet[group.patterns().length];
        for (int at = 0; at < near.length; at++) {
            int[] racks = group.patterns()[at];
            if (racks.length == 0) {
                continue;
            }
            BitSet found = new BitSet();
            for (int rack : racks) {
                found.set(rack);
            }
            found.and(ofMembers);
            if (!found.equals(ofMembers)) {
                near[at] = found;
            }
        }
        return near;
    }

    /** A key that differs from the empty one of patterns that do not matter. */
    private static BitSet plusOne(BitSet racks) {
        BitSet key = new BitSet();
        key.set(0);
        racks.stream().forEach(rack -> key.set(rack + 1));
        return key;
    }
}
