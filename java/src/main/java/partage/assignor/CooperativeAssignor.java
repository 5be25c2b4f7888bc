package partage.assignor;

import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;

/**
 * For consumers of the classic protocol, cooperative: a value of
 * {@code partition.assignment.strategy}. Decides as {@link PartageAssignor}. Members that list it
 * beside an eager assignor rebalance eagerly, so that a group can change from one to the other.
 */
public final class CooperativeAssignor implements ConsumerPartitionAssignor {
    /** Made by the consumer, by the name of the class. */
    public CooperativeAssignor() {
    }

    @Override
    public String name() {
        return "partage-cooperative";
    }

    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return List.of(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER);
    }

    @Override
    public GroupAssignment assign(Cluster cluster, GroupSubscription group) {
        return new GroupAssignment(
            ClassicAssignment.of(cluster, group.groupSubscription(), true));
    }
}
