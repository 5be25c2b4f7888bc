package partage.assignor;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;

/**
 * For consumers of the classic protocol, eager: a value of {@code partition.assignment.strategy}.
 * Decides as {@link PartageAssignor}. A member remembers its last partitions, so that it gets them
 * again.
 */
public final class EagerAssignor implements ConsumerPartitionAssignor {
    private ClassicClaims.Remembered last;

    /** Made by the consumer, by the name of the class. */
    public EagerAssignor() {
    }

    @Override
    public String name() {
        return "partage-eager";
    }

    @Override
    public ByteBuffer subscriptionUserData(Set<String> topics) {
        return last == null ? null : ClassicClaims.encode(last);
    }

    @Override
    public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
        last = new ClassicClaims.Remembered(
            List.copyOf(assignment.partitions()), metadata.generationId());
    }

    @Override
    public GroupAssignment assign(Cluster cluster, GroupSubscription group) {
        return new GroupAssignment(
            ClassicAssignment.of(cluster, group.groupSubscription(), false));
    }
}
