"""``partage``, and ``python -m partage``."""

import gc
import os
import sys

_RARELY = 100_000
"""Objects made before Python looks for garbage in cycles, 700 by default: while modules are loaded,
that would be hundreds of times, a thirtieth of a short command's time."""


def main() -> None:
    """The command line; Ctrl-C while it is still being loaded ends it in a line, too."""
    # no product of matrices here is large enough to pay for starting threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # of the thousands of functions in OR-tools, look up those that are called
    sys.setdlopenflags(os.RTLD_LAZY)
    # next to nothing here is in a cycle: look for such garbage rarely
    gc.set_threshold(_RARELY)
    try:
        from partage.cli import main as command

        command()
    except KeyboardInterrupt:
        print("partage: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # the process ends, so nothing has to be looked through for garbage


if __name__ == "__main__":
    main()
