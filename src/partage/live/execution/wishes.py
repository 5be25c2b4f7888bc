"""What is asked of a run while it goes on: a file in the plan's directory, read every round.

A run removes the file when it begins, so that no wish of yesterday holds today.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text, to_json, write_text
from partage.live.execution.pacing import AUTO

WISHES = "wishes.json"


@dataclass(frozen=True)
class Wishes:
    """``throttle``: bytes per second, or ``auto``; ``concurrency``: moves of a broker at once.
    None: nothing was asked. Raises ValueError for anything else."""

    throttle: int | str | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        for name, asked in vars(self).items():
            auto = name == "throttle" and asked == AUTO
            if not (asked is None or auto or (type(asked) is int and asked >= 1)):
                raise ValueError(f"{name}: {asked!r}")


def wish(directory: str, wishes: Wishes) -> None:
    """Ask whoever carries the plan out; what was asked before and is not now still holds."""
    before = wished(directory)
    both = Wishes(
        before.throttle if wishes.throttle is None else wishes.throttle,
        before.concurrency if wishes.concurrency is None else wishes.concurrency,
    )
    write_text(Path(directory) / WISHES, to_json(asdict(both)))


def wished(directory: str) -> Wishes:
    """What was asked. Raises InputError for a file that says something else."""
    path = Path(directory) / WISHES
    if not path.exists():
        return Wishes()
    value = parse_json(read_text(path), str(path))
    try:
        return Wishes(**value)
    except MISSHAPEN as error:
        raise InputError(str(path), f"is no wish ({error})") from None


def forget(directory: str) -> None:
    """Nothing is asked any more."""
    (Path(directory) / WISHES).unlink(missing_ok=True)
