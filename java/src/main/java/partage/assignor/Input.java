package partage.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToIntFunction;

/**
 * Turns a group with names into one with positions.
 *
 * <p>Members and topics get their positions in ascending order, so that the result does not depend on
 * the order in which they are given. Topics without partitions, and what is owned but does not exist
 * or is not subscribed to, are left out.
 *
 * @param <T> what identifies a topic
 */
final class Input<T extends Comparable<? super T>> {
    /** Finds the racks that have a replica of a partition. */
    interface Racks<T> {
        Set<String> of(T topic, int partition);
    }

    final List<String> members;
    final List<T> topics;
    final int[] firstPartition;
    private final Map<T, Integer> position = new HashMap<>();
    private final int[] classOf;
    private final int[][] classTopics;
    private final int[] owner;
    private final String[] rack;

    /**
     * @param subscriptions the topics of each member
     * @param partitions how many partitions a topic has, 0 or less where it does not exist
     */
    Input(Map<String, ? extends Collection<T>> subscriptions, ToIntFunction<T> partitions) {
        Map<String, Collection<T>> sorted = new TreeMap<>(subscriptions);
        members = new ArrayList<>(sorted.keySet());
        classOf = new int[members.size()];
        // often all have the same: compared by identity before by content
        Map<Set<T>, Integer> classes = new HashMap<>();
        List<Set<T>> distinct = new ArrayList<>();
        Collection<T> before = null;
        for (int member = 0; member < classOf.length; member++) {
            Collection<T> wanted = sorted.get(members.get(member));
            if (member > 0 && wanted == before) {
                classOf[member] = classOf[member - 1];
                continue;
            }
            before = wanted;
            Set<T> all = Set.copyOf(wanted);
            classOf[member] = classes.computeIfAbsent(all, key -> {
                distinct.add(key);
                return distinct.size() - 1;
            });
        }
        TreeSet<T> existing = new TreeSet<>();
        distinct.forEach(existing::addAll);
        existing.removeIf(topic -> partitions.applyAsInt(topic) <= 0);
        topics = new ArrayList<>(existing);
        firstPartition = new int[topics.size() + 1];
        for (int topic = 0; topic < topics.size(); topic++) {
            position.put(topics.get(topic), topic);
            firstPartition[topic + 1] = Math.addExact(
                firstPartition[topic], partitions.applyAsInt(topics.get(topic)));
        }
        classTopics = new int[distinct.size()][];
        for (int one = 0; one < classTopics.length; one++) {
            classTopics[one] = distinct.get(one).stream()
                .filter(position::containsKey).mapToInt(position::get).sorted().toArray();
        }
        owner = new int[firstPartition[topics.size()]];
        Arrays.fill(owner, Group.NOBODY);
        rack = new String[members.size()];
    }

    /** A member's rack. */
    void setRack(int member, String name) {
        rack[member] = name;
    }

    /** A member has a partition. Where two have it, the first one keeps it. */
    void setOwner(int member, T topic, int partition) {
        Integer at = position.get(topic);
        if (at == null || partition < 0 || partition >= firstPartition[at + 1] - firstPartition[at]
                || Arrays.binarySearch(classTopics[classOf[member]], at) < 0) {
            return;
        }
        int number = firstPartition[at] + partition;
        if (owner[number] == Group.NOBODY) {
            owner[number] = member;
        }
    }

    /** The group; racks are only asked for where some member has one. */
    Group group(Racks<T> racks) {
        Map<String, Integer> names = new HashMap<>();
        int[] memberRack = new int[rack.length];
        for (int member = 0; member < rack.length; member++) {
            memberRack[member] = rack[member] == null || rack[member].isEmpty()
                ? Group.NOWHERE
                : names.computeIfAbsent(rack[member], key -> names.size());
        }
        int[] pattern = new int[owner.length];
        List<int[]> patterns = new ArrayList<>(List.of(new int[0]));
        if (!names.isEmpty()) {
            Map<Set<String>, Integer> known = new HashMap<>(Map.of(Set.of(), 0));
            for (int topic = 0; topic < topics.size(); topic++) {
                int start = firstPartition[topic];
                for (int number = start; number < firstPartition[topic + 1]; number++) {
                    Set<String> found = racks.of(topics.get(topic), number - start);
                    pattern[number] = found == null ? 0 : known.computeIfAbsent(found, key -> {
                        patterns.add(key.stream().sorted().mapToInt(
                            name -> names.computeIfAbsent(name, n -> names.size())).toArray());
                        return patterns.size() - 1;
                    });
                }
            }
        }
        return new Group(
            members.size(), classOf, classTopics, firstPartition, owner, memberRack, pattern,
            patterns.toArray(new int[0][]));
    }
}
