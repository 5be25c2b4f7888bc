package partage.assignor;

/**
 * A consumer group as arrays. Members, topics, racks and partitions are positions.
 *
 * <p>Partitions are numbered topic by topic: those of topic t are {@code firstPartition[t]} up to
 * {@code firstPartition[t + 1]}.
 *
 * @param members how many there are
 * @param classOf the subscription of each member: a position in {@code classTopics}
 * @param classTopics the topics of each subscription, ascending
 * @param firstPartition the first partition of each topic, and at the end how many there are
 * @param owner who had each partition before, NOBODY where nobody had
 * @param memberRack the rack of each member, NOWHERE where it is not known
 * @param pattern for each partition which racks have a replica of it: a position in patterns
 * @param patterns the sets of racks; an empty one stands for unknown racks
 */
record Group(
        int members,
        int[] classOf,
        int[][] classTopics,
        int[] firstPartition,
        int[] owner,
        int[] memberRack,
        int[] pattern,
        int[][] patterns) {

    static final int NOBODY = -1;
    static final int NOWHERE = -1;

    int partitions() {
        return firstPartition[firstPartition.length - 1];
    }

    int topics() {
        return firstPartition.length - 1;
    }
}
