package partage.assignor;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The exact assignment; where that fails, one with even loads. */
final class Decision {
    private static final Logger LOG = LoggerFactory.getLogger(Decision.class);

    private Decision() {
    }

    /** The member of each partition. */
    static int[] of(Group group) {
        try {
            return ExactAssignment.assign(group);
        } catch (RuntimeException | OutOfMemoryError problem) {
            LOG.warn("no exact assignment of {} partitions to {} members: assigned evenly instead ({})",
                group.partitions(), group.members(), problem.toString());
            return EvenAssignment.assign(group);
        }
    }
}
