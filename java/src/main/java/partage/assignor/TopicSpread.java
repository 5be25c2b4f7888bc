package partage.assignor;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Spreads each topic as evenly over the members as loads, racks and moves allow: the sum of squares
 * of the counts per topic and member.
 *
 * <p>Rows are the partitions of a topic and a kind. The network is row → (topic, member) → member →
 * sink (row → member where the topic has one row); every arc starts with what the first choice gave,
 * within the bounds that all optima of the costs before leave it. Topics whose partitions all stay
 * need no decision.
 *
 * <p>Groups with very many rows and members keep the first choice, to save time and memory.
 */
final class TopicSpread {
    /** Pairs of rows and members up to which the spread is improved. */
    private static final int MOST_PAIRS = 20_000;
    private static final int WINDOW = 2;
    private static final int CORRECTIONS = 40;
    private static final double TOLERANCE = 0.25;

    private final Group group;
    private final Kinds kinds;
    private final PairCounts counts;
    private final int[] topicOf;
    private final int[] answer;

    // rows: topic, kind, and the first of their pairs
    private int rows;
    private int[] rowOf;
    private int[] rowTopic;
    private int[] rowKind;
    private int[] rowCount;
    private int[] first;
    // pairs: bounds, what was before, and what the partitions have now
    private int[] sits;
    private int[] given;
    private int[] low;
    private int[] high;
    // cells: pairs of a topic and a member, one after the other for each topic's first row
    private int[] cellOf;
    private int[] cellLow;
    private int[] cellHigh;
    private int[] cellMember;
    // the node of a cell: its row where the topic has only one
    private int[] cellNode;
    private int cells;
    private int nodes;

    private TopicSpread(Group group, Kinds kinds, PairCounts counts, int[] topicOf, int[] answer) {
        this.group = group;
        this.kinds = kinds;
        this.counts = counts;
        this.topicOf = topicOf;
        this.answer = answer;
    }

    /** Changes the answer. */
    static void improve(
            Group group, Kinds kinds, PairCounts counts, int[] topicOf, int[] answer) {
        TopicSpread spread = new TopicSpread(group, kinds, counts, topicOf, answer);
        if (spread.makeRows()) {
            spread.bound();
            spread.makeCells();
            int[] start = spread.given.clone();
            if (spread.mayImprove()) {
                spread.solve();
                spread.apply(start);
            }
        }
    }

    /** The rows of topics that need a decision; false if there are none, or too many. */
    private boolean makeRows() {
        boolean[] open = new boolean[group.topics()];
        for (int partition = 0; partition < answer.length; partition++) {
            int kind = kinds.ofPartition[partition];
            int owner = group.owner()[partition];
            if (kind >= 0 && (owner < 0 || !counts.keepsAll(kind, owner))) {
                open[topicOf[partition]] = true;
            }
        }
        rowOf = new int[answer.length];
        rowTopic = new int[16];
        rowKind = new int[16];
        rowCount = new int[16];
        long pairs = 0;
        Map<Integer, Integer> ofKind = new HashMap<>();
        int last = -1;
        for (int partition = 0; partition < answer.length; partition++) {
            int kind = kinds.ofPartition[partition];
            int topic = topicOf[partition];
            rowOf[partition] = -1;
            if (kind < 0 || !open[topic]) {
                continue;
            }
            if (topic != last) {
                ofKind.clear();
                last = topic;
            }
            Integer row = ofKind.get(kind);
            if (row == null) {
                row = rows++;
                ofKind.put(kind, row);
                pairs += kinds.members[kind].length;
                if (pairs > MOST_PAIRS) {
                    return false;
                }
                if (row == rowTopic.length) {
                    rowTopic = Arrays.copyOf(rowTopic, 2 * row);
                    rowKind = Arrays.copyOf(rowKind, 2 * row);
                    rowCount = Arrays.copyOf(rowCount, 2 * row);
                }
                rowTopic[row] = topic;
                rowKind[row] = kind;
            }
            rowCount[row]++;
            rowOf[partition] = row;
        }
        first = new int[rows + 1];
        for (int row = 0; row < rows; row++) {
            first[row + 1] = first[row] + kinds.members[rowKind[row]].length;
        }
        return rows > 0;
    }

    private int pair(int row, int member) {
        int kind = rowKind[row];
        return first[row] + kinds.pair(kind, member) - kinds.first[kind];
    }

    private void bound() {
        sits = new int[first[rows]];
        given = new int[sits.length];
        low = new int[sits.length];
        high = new int[sits.length];
        for (int partition = 0; partition < answer.length; partition++) {
            int row = rowOf[partition];
            if (row >= 0) {
                given[pair(row, answer[partition])]++;
                if (group.owner()[partition] >= 0) {
                    sits[pair(row, group.owner()[partition])]++;
                }
            }
        }
        for (int row = 0; row < rows; row++) {
            int pair = first[row];
            for (int member : kinds.members[rowKind[row]]) {
                int kind = rowKind[row];
                low[pair] = counts.keepsAll(kind, member) ? sits[pair] : 0;
                high[pair] = counts.getsNone(kind, member) ? sits[pair] : rowCount[row];
                if (counts.keepsNone(kind, member)) {
                    high[pair] = 0;
                }
                pair++;
            }
        }
    }

    private void makeCells() {
        cellOf = new int[sits.length];
        cellMember = new int[sits.length];
        cellNode = new int[sits.length];
        nodes = rows;
        int[] ofMember = new int[group.members()];
        Arrays.fill(ofMember, -1);
        for (int row = 0; row < rows; row++) {
            boolean begins = row == 0 || rowTopic[row] != rowTopic[row - 1];
            boolean alone = begins && (row + 1 == rows || rowTopic[row] != rowTopic[row + 1]);
            if (begins) {
                Arrays.fill(ofMember, -1);
            }
            int pair = first[row];
            for (int member : kinds.members[rowKind[row]]) {
                if (ofMember[member] < 0) {
                    ofMember[member] = cells;
                    cellNode[cells] = alone ? row : nodes++;
                    cellMember[cells++] = member;
                }
                cellOf[pair++] = ofMember[member];
            }
        }
        cellLow = sums(low);
        cellHigh = sums(high);
    }

    private int[] sums(int[] ofPairs) {
        int[] sum = new int[cells];
        for (int pair = 0; pair < ofPairs.length; pair++) {
            sum[cellOf[pair]] += ofPairs[pair];
        }
        return sum;
    }

    /** Whether some row could move a partition to a member that has at least two fewer of the topic. */
    private boolean mayImprove() {
        int[] total = sums(given);
        for (int row = 0; row < rows; row++) {
            int dearest = -1;
            int cheapest = Integer.MAX_VALUE;
            for (int pair = first[row]; pair < first[row + 1]; pair++) {
                if (given[pair] > low[pair]) {
                    dearest = Math.max(dearest, total[cellOf[pair]]);
                }
                if (given[pair] < high[pair]) {
                    cheapest = Math.min(cheapest, total[cellOf[pair]]);
                }
            }
            if (dearest - cheapest >= 2) {
                return true;
            }
        }
        // rows of a topic may exchange members
        return cells < given.length;
    }

    private void solve() {
        double[] guess = guess();
        int[] from = new int[cells];
        int[] to = new int[cells];
        for (int cell = 0; cell < cells; cell++) {
            int about = (int) Math.round(guess[cell]);
            from[cell] = Math.min(cellHigh[cell], Math.max(cellLow[cell], about - WINDOW));
            to[cell] = Math.max(cellLow[cell], Math.min(cellHigh[cell], about + WINDOW));
        }
        boolean again = true;
        while (again) {
            optimise(from, to);
            int[] total = sums(given);
            again = false;
            for (int cell = 0; cell < cells; cell++) {
                int reach = 2 * (to[cell] - from[cell]) + 4;
                if (total[cell] < from[cell]) {
                    from[cell] = Math.max(cellLow[cell], from[cell] - reach);
                    again = true;
                } else if (total[cell] > to[cell]) {
                    to[cell] = Math.min(cellHigh[cell], to[cell] + reach);
                    again = true;
                }
            }
        }
    }

    /** Improves what is given, with unit arcs within these windows of the cells. */
    private void optimise(int[] from, int[] to) {
        int[] total = sums(given);
        int members = group.members();
        int sink = nodes + members;
        Circulation network = new Circulation(sink + 1, 2 * given.length + 6 * cells);
        for (int row = 0; row < rows; row++) {
            for (int pair = first[row]; pair < first[row + 1]; pair++) {
                if (low[pair] < high[pair] && cellNode[cellOf[pair]] != row) {
                    network.add(row, cellNode[cellOf[pair]], high[pair] - low[pair],
                        given[pair] - low[pair], 0);
                }
            }
        }
        int[] firstArc = new int[cells + 1];
        for (int cell = 0; cell < cells; cell++) {
            firstArc[cell] = network.size();
            if (cellLow[cell] < cellHigh[cell]) {
                Squares.add(network, cellNode[cell], nodes + cellMember[cell], cellLow[cell],
                    cellHigh[cell], from[cell], to[cell], total[cell], 1);
            }
        }
        firstArc[cells] = network.size();
        int[] load = loads();
        for (int member = 0; member < members; member++) {
            if (counts.least[member] < counts.most[member]) {
                network.add(nodes + member, sink, counts.most[member] - counts.least[member],
                    load[member] - counts.least[member], 0);
            }
        }
        network.solve();
        int arc = 0;
        for (int pair = 0; pair < given.length; pair++) {
            int cell = cellOf[pair];
            if (cellNode[cell] < rows) {
                given[pair] = cellLow[cell] + network.flow(firstArc[cell], firstArc[cell + 1]);
            } else if (low[pair] < high[pair]) {
                int end = arc + Circulation.numbers(high[pair] - low[pair], given[pair] - low[pair]);
                given[pair] = low[pair] + network.flow(arc, end);
                arc = end;
            }
        }
    }

    /**
     * Estimated totals of the cells, as if partitions were divisible: each pair has the level of its
     * row plus that of its member, within its bounds; the levels are corrected in turn.
     */
    private double[] guess() {
        double[] wanted = wantedOfMembers();
        double[] found = new double[given.length];
        double[] ofRow = new double[rows];
        double[] ofMember = new double[wanted.length];
        double[] total = new double[cells];
        int[] reach = new int[cells];
        for (int pair = 0; pair < found.length; pair++) {
            found[pair] = low[pair];
            total[cellOf[pair]] += low[pair];
            reach[cellOf[pair]]++;
        }
        for (int turn = 0; turn < CORRECTIONS; turn++) {
            correctRows(found, ofRow);
            step(found, total, reach, ofRow, ofMember);
            double missing = correctMembers(found, wanted, ofMember);
            step(found, total, reach, ofRow, ofMember);
            if (missing < TOLERANCE) {
                break;
            }
        }
        return total;
    }

    /** What each member should have of these rows: the sum of its range's start and its part of the
     * rest. */
    private double[] wantedOfMembers() {
        int[] load = loads();
        double[] wanted = new double[load.length];
        double rest = 0;
        double slack = 0;
        for (int member = 0; member < load.length; member++) {
            rest += load[member] - counts.least[member];
            slack += counts.most[member] - counts.least[member];
        }
        double part = slack > 0 ? rest / slack : 0;
        for (int pair = 0; pair < given.length; pair++) {
            wanted[cellMember[cellOf[pair]]] += given[pair];
        }
        for (int member = 0; member < load.length; member++) {
            wanted[member] += counts.least[member] - load[member]
                + part * (counts.most[member] - counts.least[member]);
        }
        return wanted;
    }

    private void correctRows(double[] found, double[] level) {
        for (int row = 0; row < rows; row++) {
            double missing = rowCount[row];
            for (int pair = first[row]; pair < first[row + 1]; pair++) {
                missing -= found[pair];
            }
            int moving = 0;
            for (int pair = first[row]; pair < first[row + 1]; pair++) {
                moving += (missing > 0 ? found[pair] < high[pair] : found[pair] > low[pair]) ? 1 : 0;
            }
            level[row] += missing / Math.max(1, moving);
        }
    }

    private double correctMembers(double[] found, double[] wanted, double[] level) {
        double[] missing = wanted.clone();
        for (int pair = 0; pair < found.length; pair++) {
            missing[cellMember[cellOf[pair]]] -= found[pair];
        }
        int[] moving = new int[wanted.length];
        for (int pair = 0; pair < found.length; pair++) {
            int member = cellMember[cellOf[pair]];
            boolean moves = missing[member] > 0 ? found[pair] < high[pair] : found[pair] > low[pair];
            moving[member] += moves ? 1 : 0;
        }
        double largest = 0;
        for (int member = 0; member < wanted.length; member++) {
            level[member] += missing[member] / Math.max(1, moving[member]);
            largest = Math.max(largest, Math.abs(missing[member]));
        }
        return largest;
    }

    private void step(
            double[] found, double[] total, int[] reach, double[] ofRow, double[] ofMember) {
        double[] before = total.clone();
        Arrays.fill(total, 0);
        for (int row = 0; row < rows; row++) {
            for (int pair = first[row]; pair < first[row + 1]; pair++) {
                int cell = cellOf[pair];
                double aim = ofRow[row] + ofMember[cellMember[cell]];
                if (reach[cell] > 1) {
                    // the other rows of the topic count, and step as well: half a step
                    aim = (aim - before[cell] + 2 * found[pair]) / 2;
                }
                found[pair] = Math.min(high[pair], Math.max(low[pair], aim));
                total[cell] += found[pair];
            }
        }
    }

    /** How many partitions each member has, those of topics without a decision included. */
    private int[] loads() {
        int[] load = new int[group.members()];
        for (int partition = 0; partition < answer.length; partition++) {
            if (answer[partition] >= 0 && rowOf[partition] < 0) {
                load[answer[partition]]++;
            }
        }
        for (int pair = 0; pair < given.length; pair++) {
            load[cellMember[cellOf[pair]]] += given[pair];
        }
        return load;
    }

    /** Assigns the partitions of rows whose counts differ from {@code start} again. */
    private void apply(int[] start) {
        boolean[] changed = new boolean[rows];
        for (int row = 0; row < rows; row++) {
            changed[row] = !Arrays.equals(
                given, first[row], first[row + 1], start, first[row], first[row + 1]);
        }
        int[] left = given.clone();
        for (int partition = 0; partition < answer.length; partition++) {
            int row = rowOf[partition];
            if (row >= 0 && changed[row]) {
                int owner = group.owner()[partition];
                answer[partition] = Group.NOBODY;
                if (owner >= 0 && left[pair(row, owner)] > 0) {
                    left[pair(row, owner)]--;
                    answer[partition] = owner;
                }
            }
        }
        int[] next = Arrays.copyOf(first, rows);
        for (int partition = 0; partition < answer.length; partition++) {
            int row = rowOf[partition];
            if (row >= 0 && answer[partition] < 0) {
                while (left[next[row]] == 0) {
                    next[row]++;
                }
                left[next[row]]--;
                answer[partition] = kinds.members[rowKind[row]][next[row] - first[row]];
            }
        }
    }
}
