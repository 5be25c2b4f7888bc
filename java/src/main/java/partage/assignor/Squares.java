package partage.assignor;

/** The cost of a square as parallel arcs with increasing marginal costs. */
final class Squares {
    private Squares() {
    }

    /**
     * Adds arcs that carry {@code used} of the amounts from {@code least} to {@code most}, and cost
     * {@code weight} times the square of the amount: one arc per unit from {@code low} to
     * {@code high}; outside of this window one arc on each side, with the cost of the unit at its end.
     */
    static void add(
            Circulation network, int from, int to, int least, int most, int low, int high, int used,
            long weight) {
        if (low > least) {
            int below = Math.min(low, used) - least;
            network.add(from, to, low - least, below, weight * (2L * low - 1));
        }
        for (int unit = low + 1; unit <= high; unit++) {
            network.add(from, to, 1, used >= unit ? 1 : 0, weight * (2L * unit - 1));
        }
        if (high < most) {
            int above = Math.max(high, used) - high;
            network.add(from, to, most - high, above, weight * (2L * high + 1));
        }
    }
}
