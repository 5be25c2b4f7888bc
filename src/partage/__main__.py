"""``python -m partage``."""

from partage.cli import main

main()
