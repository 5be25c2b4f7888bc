"""Settings of a run that ``partage throttle`` changes while it goes on: a file in the plan
directory, which the run reads every round.

A run removes the file when it begins, so that the overrides of an earlier run do not apply.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeGuard

from partage.brokers.directory import OVERRIDES
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text
from partage.outputs import json_with_checksum, remove_file, write_file
from partage.units import AUTO


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Overrides:
    """``throttle``: bytes per second, or ``auto``; ``concurrency``: new replicas that a broker
    receives or sends at once. None: not overridden. Raises ValueError for anything else."""

    throttle: int | str | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            auto = name == "throttle" and value == AUTO
            if not (value is None or auto or (_is_int(value) and value >= 1)):
                raise ValueError(f"{name}: {value!r}")

    @classmethod
    def read(cls, directory: str) -> Overrides:
        """Those of a plan directory. Raises InputError for a file that is damaged."""
        path = Path(directory) / OVERRIDES
        if not path.exists():
            return cls()
        value = parse_json(read_text(path), str(path))
        try:
            return cls(**{name: one for name, one in value.items() if name != "checksum"})
        except MISSHAPEN as error:
            raise InputError(str(path), f"is not a run override ({error})") from None

    def write(self, directory: str) -> None:
        """Override the settings that are not None; earlier overrides of the others still apply."""
        before = self.read(directory)
        merged = Overrides(
            before.throttle if self.throttle is None else self.throttle,
            before.concurrency if self.concurrency is None else self.concurrency,
        )
        path = Path(directory) / OVERRIDES
        write_file(path, json_with_checksum(asdict(merged)), root=directory)

    @staticmethod
    def clear(directory: str) -> None:
        """Remove the overrides of an earlier run. Raises InputError for a file of someone else."""
        remove_file(Path(directory) / OVERRIDES, root=directory)
