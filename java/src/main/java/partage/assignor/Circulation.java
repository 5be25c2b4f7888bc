package partage.assignor;

import java.util.Arrays;

/**
 * The cheapest change of a feasible flow: a minimum-cost circulation, by the primal network simplex.
 *
 * <p>Every arc starts empty or full, so any flow can be the start: an arc that is partly used is
 * laid out as two, one full and one empty. Nothing is supplied or demanded. The first spanning tree
 * consists of arcs from every node to a root that never carry anything, so it is strongly feasible;
 * the choice of the arc that leaves the tree keeps it so, which prevents cycling (Cunningham 1976).
 * The arc that enters is the best of a block of arcs, block after block.
 *
 * <p>The potentials of the final tree are dual values of the optimum: in every optimal flow an arc
 * with a positive reduced cost is empty, and one with a negative reduced cost is full.
 */
final class Circulation {
    private static final byte EMPTY = 1;
    private static final byte IN_TREE = 0;
    private static final byte FULL = -1;
    private static final int UP = 1;
    private static final int DOWN = -1;
    private static final int NONE = -1;
    private static final int SMALLEST_BLOCK = 32;

    private final int nodes;
    private int arcs;
    private int[] tail;
    private int[] head;
    private int[] capacity;
    private int[] flow;
    private long[] cost;
    private byte[] state;

    // the spanning tree: each node's parent, the arc between them, and the node's children
    private final int[] parent;
    private final int[] arcToParent;
    private final byte[] direction;
    private final int[] depth;
    private final int[] firstChild;
    private final int[] next;
    private final int[] previous;
    private final long[] potential;

    private int position;

    /** A network without arcs; {@code expected} arcs are allocated at once. */
    Circulation(int nodes, int expected) {
        this.nodes = nodes;
        int size = Math.max(16, expected) + nodes;
        tail = new int[size];
        head = new int[size];
        capacity = new int[size];
        flow = new int[size];
        cost = new long[size];
        state = new byte[size];
        parent = new int[nodes + 1];
        arcToParent = new int[nodes + 1];
        direction = new byte[nodes + 1];
        depth = new int[nodes + 1];
        firstChild = new int[nodes + 1];
        next = new int[nodes + 1];
        previous = new int[nodes + 1];
        potential = new long[nodes + 1];
    }

    /** Adds an arc with a flow. One that is partly used takes two numbers. */
    void add(int from, int to, int most, int used, long unitCost) {
        if (used > 0) {
            append(from, to, used, used, unitCost);
        }
        if (used < most || used == 0) {
            append(from, to, most - used, 0, unitCost);
        }
    }

    /** How many numbers an arc takes that was added with this capacity and flow. */
    static int numbers(int most, int used) {
        return used > 0 && used < most ? 2 : 1;
    }

    private void append(int from, int to, int most, int used, long unitCost) {
        if (arcs == tail.length) {
            int size = arcs + (arcs >> 1);
            tail = Arrays.copyOf(tail, size);
            head = Arrays.copyOf(head, size);
            capacity = Arrays.copyOf(capacity, size);
            flow = Arrays.copyOf(flow, size);
            cost = Arrays.copyOf(cost, size);
            state = Arrays.copyOf(state, size);
        }
        tail[arcs] = from;
        head[arcs] = to;
        capacity[arcs] = most;
        flow[arcs] = used;
        cost[arcs] = unitCost;
        state[arcs++] = used > 0 ? FULL : EMPTY;
    }

    /** How many arcs there are: the number of the next one. */
    int size() {
        return arcs;
    }

    /** The flow of the arcs from {@code first} up to, not including, {@code end}. */
    int flow(int first, int end) {
        int sum = 0;
        for (int arc = first; arc < end; arc++) {
            sum += flow[arc];
        }
        return sum;
    }

    /** The dual value of a node. */
    long potential(int node) {
        return potential[node];
    }

    /** Makes the flow a cheapest one. */
    void solve() {
        int real = arcs;
        plantTree();
        int block = Math.max(SMALLEST_BLOCK, (int) Math.sqrt(real));
        position = 0;
        for (int arc = entering(real, block); arc != NONE; arc = entering(real, block)) {
            pivot(arc);
        }
        arcs = real;
    }

    private void plantTree() {
        int root = nodes;
        parent[root] = NONE;
        depth[root] = 0;
        potential[root] = 0;
        Arrays.fill(firstChild, NONE);
        for (int node = 0; node < nodes; node++) {
            append(node, root, Integer.MAX_VALUE, 0, 0);
            state[arcs - 1] = IN_TREE;
            arcToParent[node] = arcs - 1;
            direction[node] = UP;
            potential[node] = 0;
            attach(node, root);
            depth[node] = 1;
        }
    }

    /** The arc with the most negative reduced cost of the first block that has one, or NONE. */
    private int entering(int real, int block) {
        int best = NONE;
        long least = 0;
        int left = block;
        for (int seen = 0; seen < real; seen++) {
            int arc = position;
            if (++position == real) {
                position = 0;
            }
            long reduced = state[arc] * (cost[arc] + potential[tail[arc]] - potential[head[arc]]);
            if (reduced < least) {
                least = reduced;
                best = arc;
            }
            if (--left == 0) {
                if (best != NONE) {
                    return best;
                }
                left = block;
            }
        }
        return best;
    }

    /** Pushes as much as possible along the cycle that the arc closes, and updates the tree. */
    private void pivot(int arc) {
        boolean forward = state[arc] == EMPTY;
        int first = forward ? tail[arc] : head[arc];
        int second = forward ? head[arc] : tail[arc];
        int apex = meeting(first, second);
        int amount = capacity[arc];
        int leaving = NONE;
        boolean onFirst = false;
        // the last arc that blocks, seen from the apex in the direction of the cycle, leaves
        for (int node = first; node != apex; node = parent[node]) {
            int up = arcToParent[node];
            int room = direction[node] == UP ? flow[up] : capacity[up] - flow[up];
            if (room < amount) {
                amount = room;
                leaving = node;
                onFirst = true;
            }
        }
        for (int node = second; node != apex; node = parent[node]) {
            int up = arcToParent[node];
            int room = direction[node] == UP ? capacity[up] - flow[up] : flow[up];
            if (room <= amount) {
                amount = room;
                leaving = node;
                onFirst = false;
            }
        }
        if (amount > 0) {
            flow[arc] += forward ? amount : -amount;
            for (int node = first; node != apex; node = parent[node]) {
                flow[arcToParent[node]] -= direction[node] * amount;
            }
            for (int node = second; node != apex; node = parent[node]) {
                flow[arcToParent[node]] += direction[node] * amount;
            }
        }
        if (leaving == NONE) {
            state[arc] = (byte) -state[arc];
            return;
        }
        int old = arcToParent[leaving];
        state[old] = flow[old] == 0 ? EMPTY : FULL;
        state[arc] = IN_TREE;
        hang(onFirst ? first : second, onFirst ? second : first, arc, leaving);
    }

    private int meeting(int one, int other) {
        while (one != other) {
            if (depth[one] >= depth[other]) {
                one = parent[one];
            } else {
                other = parent[other];
            }
        }
        return one;
    }

    /** Hangs the subtree of {@code leaving}, turned so that {@code top} is its root, at a node. */
    private void hang(int top, int at, int arc, int leaving) {
        int node = top;
        int above = at;
        int via = arc;
        byte way = (byte) (tail[arc] == top ? UP : DOWN);
        while (true) {
            int oldParent = parent[node];
            int oldArc = arcToParent[node];
            byte oldWay = direction[node];
            detach(node);
            attach(node, above);
            arcToParent[node] = via;
            direction[node] = way;
            if (node == leaving) {
                break;
            }
            above = node;
            via = oldArc;
            way = (byte) -oldWay;
            node = oldParent;
        }
        long wanted = potential[at] - direction[top] * cost[arc];
        raise(top, wanted - potential[top]);
    }

    /** Adds to the potentials of a subtree, and counts its depths again. */
    private void raise(int top, long by) {
        int node = top;
        while (true) {
            potential[node] += by;
            depth[node] = depth[parent[node]] + 1;
            if (firstChild[node] != NONE) {
                node = firstChild[node];
                continue;
            }
            while (node != top && next[node] == NONE) {
                node = parent[node];
            }
            if (node == top) {
                return;
            }
            node = next[node];
        }
    }

    private void attach(int node, int to) {
        int child = firstChild[to];
        parent[node] = to;
        previous[node] = NONE;
        next[node] = child;
        if (child != NONE) {
            previous[child] = node;
        }
        firstChild[to] = node;
    }

    private void detach(int node) {
        if (previous[node] == NONE) {
            firstChild[parent[node]] = next[node];
        } else {
            next[previous[node]] = next[node];
        }
        if (next[node] != NONE) {
            previous[next[node]] = previous[node];
        }
    }
}
