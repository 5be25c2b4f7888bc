package partage.assignor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ExactAssignmentTest {
    @Test
    void noAssignmentOfASmallGroupIsBetter() {
        Random draw = new Random(1);
        for (int turn = 0; turn < 1500; turn++) {
            Group group = Groups.random(draw, 3, 3, 3);
            int[] answer = ExactAssignment.assign(group);
            assertArrayEquals(best(group), Groups.value(group, answer), "group " + turn);
        }
    }

    @Test
    void everySubscribedPartitionHasASubscriber() {
        Random draw = new Random(2);
        for (int turn = 0; turn < 300; turn++) {
            Group group = Groups.random(draw, 8, 40, 12);
            checkWhole(group, ExactAssignment.assign(group));
            checkWhole(group, EvenAssignment.assign(group));
        }
    }

    @Test
    void anOptimalAssignmentIsNotChanged() {
        Random draw = new Random(3);
        for (int turn = 0; turn < 300; turn++) {
            Group group = Groups.random(draw, 8, 40, 12);
            int[] once = ExactAssignment.assign(group);
            assertArrayEquals(once, ExactAssignment.assign(ownedAs(group, once)), "group " + turn);
        }
    }

    @Test
    void theFallbackIsAsEvenWhereAllSubscribeToAll() {
        Random draw = new Random(4);
        for (int turn = 0; turn < 300; turn++) {
            Group group = Groups.random(draw, 8, 40, 12);
            int[] all = IntStream.range(0, group.topics()).toArray();
            Group alike = new Group(
                group.members(), new int[group.members()], new int[][] {all}, group.firstPartition(),
                group.owner(), group.memberRack(), group.pattern(), group.patterns());
            assertEquals(
                Groups.value(alike, ExactAssignment.assign(alike))[0],
                Groups.value(alike, EvenAssignment.assign(alike))[0]);
        }
    }

    @Test
    void theFallbackMovesLittleWhereAMemberLeaves() {
        int[][] subscriptions = {{}, IntStream.range(0, 90).toArray()};
        Group group = new Group(
            10, filled(10, 1), subscriptions, IntStream.rangeClosed(0, 90).toArray(), unowned(90),
            filled(10, -1), new int[90], new int[][] {{}});
        int[] before = EvenAssignment.assign(group);
        group.classOf()[0] = 0;
        int[] left = IntStream.of(before).map(member -> member == 0 ? Group.NOBODY : member).toArray();
        int[] after = EvenAssignment.assign(ownedAs(group, left));
        // the nine that nobody has now, one to each
        assertEquals(9, IntStream.range(0, 90).filter(at -> before[at] != after[at]).count());
    }

    @Test
    void loadsFarFromTheEstimateAreFound() {
        // member 0 alone subscribes to the large topic; the others share the small ones
        int[][] subscriptions = {{0, 1, 2}, {1, 2}, {2}};
        int[] first = {0, 5000, 5007, 5010};
        int[] owner = new int[5010];
        Group group = new Group(
            3, new int[] {0, 1, 2}, subscriptions, first, owner, new int[] {-1, -1, -1},
            new int[5010], new int[][] {{}});
        int[] load = new int[3];
        Arrays.stream(ExactAssignment.assign(group)).forEach(member -> load[member]++);
        assertArrayEquals(new int[] {5000, 7, 3}, load);
    }

    @Test
    void aGroupWithTooManyPairsIsAssignedEvenly() {
        int members = 4000;
        int topics = 2100;
        int[][] subscriptions = IntStream.range(0, members)
            .mapToObj(member -> IntStream.range(0, topics)
                .filter(topic -> topic != member % topics).toArray())
            .toArray(int[][]::new);
        Group group = new Group(
            members, IntStream.range(0, members).toArray(), subscriptions,
            IntStream.rangeClosed(0, topics).toArray(), unowned(topics), filled(members, -1),
            new int[topics], new int[][] {{}});
        assertThrows(ArithmeticException.class, () -> ExactAssignment.assign(group));
        int[] answer = Decision.of(group);
        assertEquals(topics, Arrays.stream(answer).distinct().count());
        assertTrue(IntStream.range(0, topics).noneMatch(topic -> answer[topic] % topics == topic));
    }

    private static int[] unowned(int partitions) {
        return filled(partitions, Group.NOBODY);
    }

    private static int[] filled(int length, int value) {
        int[] made = new int[length];
        Arrays.fill(made, value);
        return made;
    }

    private static Group ownedAs(Group group, int[] owner) {
        return new Group(
            group.members(), group.classOf(), group.classTopics(), group.firstPartition(), owner,
            group.memberRack(), group.pattern(), group.patterns());
    }

    private static void checkWhole(Group group, int[] answer) {
        for (int partition = 0; partition < answer.length; partition++) {
            int topic = Groups.topicOf(group, partition);
            boolean wanted = IntStream.range(0, group.members())
                .anyMatch(member -> Groups.subscribes(group, member, topic));
            assertEquals(wanted, answer[partition] >= 0);
            assertTrue(!wanted || Groups.subscribes(group, answer[partition], topic));
        }
    }

    /** The best value of all assignments, one after the other. */
    private static long[] best(Group group) {
        return search(group, new int[group.partitions()], 0, null);
    }

    private static long[] search(Group group, int[] answer, int partition, long[] best) {
        if (partition == answer.length) {
            long[] value = Groups.value(group, answer);
            return best == null || Arrays.compare(value, best) < 0 ? value : best;
        }
        boolean any = false;
        for (int member = 0; member < group.members(); member++) {
            if (Groups.subscribes(group, member, Groups.topicOf(group, partition))) {
                any = true;
                answer[partition] = member;
                best = search(group, answer, partition + 1, best);
            }
        }
        if (!any) {
            answer[partition] = Group.NOBODY;
            best = search(group, answer, partition + 1, best);
        }
        return best;
    }
}
