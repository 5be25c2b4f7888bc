package partage.assignor;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The exact assignment of many groups: a group per line on stdin, the members of its partitions per
 * line on stdout, as JSON arrays of whole numbers.
 *
 * <p>A group is the array of the components of {@link Group}, in their order, after {@code [members]}.
 */
final class Answers {
    private final String text;
    private int at;

    private Answers(String text) {
        this.text = text;
    }

    public static void main(String[] words) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(Arrays.toString(ExactAssignment.assign(group(line))));
        }
        out.flush();
    }

    static Group group(String line) {
        List<?> parts = new Answers(line).list();
        return new Group(
            ints(parts.get(0))[0], ints(parts.get(1)), arrays(parts.get(2)), ints(parts.get(3)),
            ints(parts.get(4)), ints(parts.get(5)), ints(parts.get(6)), arrays(parts.get(7)));
    }

    private static int[] ints(Object list) {
        return ((List<?>) list).stream().mapToInt(one -> (Integer) one).toArray();
    }

    private static int[][] arrays(Object list) {
        return ((List<?>) list).stream().map(Answers::ints).toArray(int[][]::new);
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        at++;
        while (text.charAt(at) != ']') {
            if (text.charAt(at) == '[') {
                found.add(list());
            } else if (text.charAt(at) == ',' || text.charAt(at) == ' ') {
                at++;
            } else {
                int start = at;
                while (text.charAt(at) == '-' || Character.isDigit(text.charAt(at))) {
                    at++;
                }
                found.add(Integer.valueOf(text.substring(start, at)));
            }
        }
        at++;
        return found;
    }
}
