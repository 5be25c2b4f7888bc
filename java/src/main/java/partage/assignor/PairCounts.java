package partage.assignor;

import java.util.Arrays;

/**
 * How many partitions of each kind every member keeps and gets: the fairest loads, then the most
 * partitions near their members, then the fewest moves.
 *
 * <p>One network, kind → member → sink. Each pair has an arc for partitions that the member has and
 * one for new ones; the arcs to the sink cost the squares of the loads, one arc per unit in a window
 * around an estimate, with a linear arc on each side that never costs more than the true squares. An
 * optimum inside the windows is therefore an optimum; otherwise they grow.
 *
 * <p>The three costs are one number: no cycle has more arcs than the network has nodes, so a factor
 * above twice that number keeps them apart.
 *
 * <p>The estimate is that of divisible partitions: kind after kind fills up the least loaded of its
 * members until the loads converge. The start keeps what members have up to their estimated loads.
 */
final class PairCounts {
    private static final int ROUNDS = 20;
    private static final double CONVERGED = 0.5;
    private static final int WINDOW = 2;

    /** For each pair, how many partitions stay with the member, and how many come. */
    final int[] kept;
    final int[] fresh;
    /** The range of each member's load over all optima. */
    final int[] least;
    final int[] most;

    private final Kinds kinds;
    private final int members;
    private final int[] current;
    private final int total;
    private final long factor;
    private final int[] low;
    private final int[] high;
    private Circulation network;

    /** Solves. {@code current}: for each pair, how many partitions of the kind the member has. */
    PairCounts(Kinds kinds, int members, int[] current) {
        this.kinds = kinds;
        this.members = members;
        this.current = current;
        total = Arrays.stream(kinds.count).sum();
        factor = 2L * (kinds.kinds() + members + 2) + 4;
        kept = current.clone();
        fresh = new int[current.length];
        low = new int[members];
        high = new int[members];
        least = new int[members];
        most = new int[members];
        double[] part = new double[current.length];
        double[] guess = guess(part);
        int[] load = start(guess, part);
        for (int member = 0; member < members; member++) {
            low[member] = Math.max(0, (int) Math.floor(guess[member]) - WINDOW);
            high[member] = Math.min(total, (int) Math.ceil(guess[member]) + WINDOW);
        }
        do {
            solve(load);
        } while (widen(load));
        for (int member = 0; member < members; member++) {
            range(member);
        }
        potentials();
    }

    // what all optima have in common, from the dual values

    private long[] kindPotential;
    private long[] memberPotential;

    private void potentials() {
        kindPotential = new long[kinds.kinds()];
        memberPotential = new long[members];
        for (int kind = 0; kind < kindPotential.length; kind++) {
            kindPotential[kind] = network.potential(kind);
        }
        for (int member = 0; member < members; member++) {
            memberPotential[member] = network.potential(kindPotential.length + member);
        }
        network = null;
    }

    /** Whether no optimum gives the member a partition of the kind that it does not have. */
    boolean getsNone(int kind, int member) {
        return reduced(kind, member, 1) > 0;
    }

    /** Whether the member keeps all its partitions of the kind in every optimum. */
    boolean keepsAll(int kind, int member) {
        return reduced(kind, member, 0) < 0;
    }

    /** Whether the member keeps none of its partitions of the kind in any optimum. */
    boolean keepsNone(int kind, int member) {
        return reduced(kind, member, 0) > 0;
    }

    private long reduced(int kind, int member, int moves) {
        return cost(kind, member, moves) + kindPotential[kind] - memberPotential[member];
    }

    private long cost(int kind, int member, int moves) {
        return (kinds.far(kind, member) ? factor : 0) + moves;
    }

    private void range(int member) {
        long worth = network.potential(kinds.kinds() + members)
            - network.potential(kinds.kinds() + member);
        long unit = factor * factor;
        // unit n of the load costs (2 n - 1) unit: those below the worth are in every optimum
        long below = Math.floorDiv(-Math.floorDiv(-worth, unit), 2L);
        long upTo = Math.floorDiv(Math.floorDiv(worth, unit) + 1, 2L);
        least[member] = (int) Math.max(0, Math.min(total, below));
        most[member] = (int) Math.max(0, Math.min(total, upTo));
    }

    // the network

    private void solve(int[] load) {
        int sink = kinds.kinds() + members;
        network = new Circulation(sink + 1, 2 * current.length + 8 * members);
        for (int kind = 0; kind < kinds.kinds(); kind++) {
            int pair = kinds.first[kind];
            for (int member : kinds.members[kind]) {
                int to = kinds.kinds() + member;
                if (current[pair] > 0) {
                    network.add(kind, to, current[pair], kept[pair], cost(kind, member, 0));
                }
                network.add(kind, to, total, fresh[pair], cost(kind, member, 1));
                pair++;
            }
        }
        int[] firstArc = new int[members + 1];
        for (int member = 0; member < members; member++) {
            firstArc[member] = network.size();
            Squares.add(network, kinds.kinds() + member, sink, 0, total, low[member], high[member],
                load[member], factor * factor);
        }
        firstArc[members] = network.size();
        network.solve();
        int arc = 0;
        for (int pair = 0; pair < current.length; pair++) {
            if (current[pair] > 0) {
                int end = arc + Circulation.numbers(current[pair], kept[pair]);
                kept[pair] = network.flow(arc, end);
                arc = end;
            }
            int end = arc + Circulation.numbers(total, fresh[pair]);
            fresh[pair] = network.flow(arc, end);
            arc = end;
        }
        for (int member = 0; member < members; member++) {
            load[member] = network.flow(firstArc[member], firstArc[member + 1]);
        }
    }

    private boolean widen(int[] load) {
        boolean wider = false;
        for (int member = 0; member < members; member++) {
            int reach = 2 * (high[member] - low[member]) + 4;
            if (load[member] < low[member]) {
                low[member] = Math.max(0, low[member] - reach);
                wider = true;
            } else if (load[member] > high[member]) {
                high[member] = Math.min(total, high[member] + reach);
                wider = true;
            }
        }
        return wider;
    }

    // the estimate

    /** Nearly even loads, and in {@code part} what each pair contributes. */
    private double[] guess(double[] part) {
        double[] load = new double[members];
        double[] others = new double[members];
        for (int round = 0; round < ROUNDS; round++) {
            double moved = 0;
            for (int kind = 0; kind < kinds.kinds(); kind++) {
                int[] ids = kinds.members[kind];
                int pair = kinds.first[kind];
                for (int at = 0; at < ids.length; at++) {
                    others[at] = load[ids[at]] - part[pair + at];
                }
                double level = level(others, ids.length, kinds.count[kind]);
                for (int at = 0; at < ids.length; at++) {
                    double placed = Math.max(0, level - others[at]);
                    moved = Math.max(moved, Math.abs(placed - part[pair + at]));
                    part[pair + at] = placed;
                    load[ids[at]] = others[at] + placed;
                }
            }
            if (moved < CONVERGED || kinds.kinds() == 1) {
                break;
            }
        }
        return load;
    }

    /** The level that an amount reaches when it fills up the ground: Newton's method from above. */
    private static double level(double[] ground, int length, double amount) {
        double level = Double.MAX_VALUE;
        int filled = length + 1;
        while (true) {
            double sum = amount;
            int below = 0;
            for (int at = 0; at < length; at++) {
                if (ground[at] < level) {
                    sum += ground[at];
                    below++;
                }
            }
            // the level only falls; rounding must not let it rise again
            if (below >= filled || below == 0) {
                return level;
            }
            filled = below;
            level = sum / below;
        }
    }

    // the start

    /** Feasible counts near the estimate; returns the loads. */
    private int[] start(double[] guess, double[] part) {
        int[] load = new int[members];
        int[] room = new int[members];
        for (int member = 0; member < members; member++) {
            room[member] = (int) Math.round(guess[member]);
        }
        forEachPair((kind, member, pair) -> room[member] -= current[pair]);
        giveUp(room, true);
        giveUp(room, false);
        int[] left = kinds.count.clone();
        forEachPair((kind, member, pair) -> left[kind] -= kept[pair]);
        // first as in the estimate, in which kinds are spread evenly, then wherever there is room
        take(room, left, true, part);
        take(room, left, true, null);
        take(room, left, false, part);
        take(room, left, false, null);
        for (int kind = 0; kind < left.length; kind++) {
            int[] ids = kinds.members[kind];
            for (int at = 0; at < ids.length; at++) {
                fresh[kinds.first[kind] + at] +=
                    left[kind] / ids.length + (at < left[kind] % ids.length ? 1 : 0);
            }
        }
        forEachPair((kind, member, pair) -> load[member] += kept[pair] + fresh[pair]);
        return load;
    }

    /** Members above their estimates give up what is too much, those far from them first. */
    private void giveUp(int[] room, boolean far) {
        forEachPair((kind, member, pair) -> {
            if (room[member] < 0 && kept[pair] > 0 && kinds.far(kind, member) == far) {
                int given = Math.min(-room[member], kept[pair]);
                kept[pair] -= given;
                room[member] += given;
            }
        });
    }

    /** Members below their estimates take what is left: near ones only or all, of a kind at most as
     * much as they have in the estimate, if it is given. */
    private void take(int[] room, int[] left, boolean near, double[] part) {
        forEachPair((kind, member, pair) -> {
            int amount = Math.min(room[member], left[kind]);
            if (part != null) {
                amount = Math.min(amount, (int) part[pair] - kept[pair] - fresh[pair]);
            }
            if (amount > 0 && !(near && kinds.far(kind, member))) {
                int back = Math.min(current[pair] - kept[pair], amount);
                kept[pair] += back;
                fresh[pair] += amount - back;
                room[member] -= amount;
                left[kind] -= amount;
            }
        });
    }

    private interface PairAction {
        void on(int kind, int member, int pair);
    }

    private void forEachPair(PairAction action) {
        for (int kind = 0; kind < kinds.kinds(); kind++) {
            int pair = kinds.first[kind];
            for (int member : kinds.members[kind]) {
                action.on(kind, member, pair++);
            }
        }
    }
}
