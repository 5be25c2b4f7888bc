"""``partage``, and ``python -m partage``."""

import sys


def main() -> None:
    """The command line; Ctrl-C while it is still being loaded ends it in a line, too."""
    try:
        from partage.cli import main as command

        command()
    except KeyboardInterrupt:
        print("partage: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
