package partage.assignor;

/** The exact assignment; where that fails, one with even loads. */
final class Decision {
    private static final System.Logger LOG = System.getLogger(Decision.class.getName());

    private Decision() {
    }

    /** The member of each partition. */
    static int[] of(Group group) {
        try {
            return ExactAssignment.assign(group);
        } catch (RuntimeException | OutOfMemoryError problem) {
            LOG.log(System.Logger.Level.WARNING,
                "no exact assignment of " + group.partitions() + " partitions to " + group.members()
                    + " members: assigned evenly instead (" + problem + ")");
            return EvenAssignment.assign(group);
        }
    }
}
