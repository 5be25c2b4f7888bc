"""plan.json as the checker reads it: columns, with nothing derived by anybody else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partage.brokers.check.plan_shape import PLAN
from partage.brokers.check.shape import misfit, same
from partage.brokers.directory import FORMAT_VERSION, MARKER
from partage.errors import MISSHAPEN, InputError
from partage.files import parse_json, read_text

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Lists = list[list[int]]


class MalformedError(Exception):
    """plan.json lacks something or has it in a wrong shape."""


def read_json(root: Path, name: str) -> Any:
    """The value in the directory's file ``name``. Raises MalformedError that names it, and OSError
    where it cannot be opened."""
    (root / name).open("rb").close()
    try:
        return parse_json(read_text(root / name), name)
    except InputError as error:
        problem = str(error).removeprefix(f"{root / name}: ").removeprefix(f"{name}: ")
        raise MalformedError(f"{name}: {problem}") from None


class PlanFile:
    """plan.json's columns, nothing derived by anybody else."""

    def __init__(self, value: Any, root: Path) -> None:
        self.root = root
        try:
            self._load(value)
        except MISSHAPEN as error:
            problem = f"malformed ({type(error).__name__}: {error})"
            raise MalformedError(f"{MARKER}: {problem}") from None

    def _load(self, value: Any) -> None:
        if not same(value["format_version"], FORMAT_VERSION):
            raise MalformedError(
                f"{MARKER}: format_version is {value['format_version']!r}, "
                f"expected {FORMAT_VERSION}"
            )
        problem = misfit(value, PLAN)
        if problem is not None:
            raise MalformedError(f"{MARKER}: {problem}")
        self.value = value
        brokers, part = value["brokers"], value["partitions"]
        self.ids = [b["id"] for b in brokers]
        if self.ids != sorted(set(self.ids)):
            raise MalformedError(f"{MARKER}: brokers: ids must ascend")
        self.place = {b: i for i, b in enumerate(self.ids)}
        self.rack = [b["rack"] for b in brokers]
        self.disk = [b["disk_bytes"] for b in brokers]
        self.capacity = [Fraction(str(b["capacity"])) for b in brokers]
        self.alive = np.array([b["alive"] for b in brokers], dtype=np.bool_)
        self.usable = self.alive & ~np.array([b["excluded"] for b in brokers], dtype=np.bool_)
        self.slots = np.flatnonzero(self.usable)
        self.slot_of = np.full(len(self.ids) + 1, -1)
        self.slot_of[self.slots] = np.arange(len(self.slots))
        self.topics = value["topics"]
        self.topic = np.array(part["topic"], dtype=np.int64)
        if self.topics != sorted(set(self.topics)) or not all(
            t < len(self.topics) for t in self.topic.tolist()
        ):
            raise MalformedError(
                f"{MARKER}: topics: names must ascend, and every partition have one of them"
            )
        self.number = part["partition"]
        self.chosen = np.array(part["chosen"], dtype=np.bool_)
        self.factor = np.array(part["replication_factor"], dtype=np.int64)
        self.size = np.array([0 if s is None else s for s in part["size_bytes"]], dtype=object)
        self.sized = any(s is not None for s in part["size_bytes"])
        self.rates = part["bytes_per_second"]
        self.before: Lists = part["before"]
        self.after: Lists = part["after"]
        self.options = value["options"]
        self.no_moves = self.options.get("no_moves", False)
        self.relieve = self.options.get("relieve")
        self.by_size = self.options.get("balance") == "bytes" or self.relieve is not None
        count = len(self.number)
        columns = [column for column in part.values() if column is not None]
        if count == 0 or any(len(column) != count for column in columns):
            raise MalformedError(f"{MARKER}: partitions: the columns differ in length")
        self.names = [
            f"{self.topics[t]}-{p}" for t, p in zip(self.topic.tolist(), self.number, strict=True)
        ]
        if len(set(self.names)) != count:
            raise MalformedError(f"{MARKER}: partitions: one is listed twice")

    def on(self, lists: Lists) -> Ints:
        """[P, R] broker positions, -1 padded."""
        width = max(len(row) for row in lists)
        return np.array(
            [[self.place[b] for b in row] + [-1] * (width - len(row)) for row in lists],
            dtype=np.int64,
        )

    def pairs(self, lists: Lists) -> tuple[Ints, Ints]:
        """(row, broker position) of every replica."""
        on = self.on(lists)
        row, column = np.nonzero(on >= 0)
        return row, on[row, column]

    def followers(self, lists: Lists) -> list[int]:
        """Who takes over: position of the next live replica after the first, or -1."""
        return [
            next((self.place[b] for b in row[1:] if self.alive[self.place[b]]), -1) for row in lists
        ]

    @property
    def stages(self) -> dict[str, Any]:
        return {stage["stage"]: stage for stage in self.value["certificate"]["stages"]}


def percent(text: str) -> Fraction:
    """2%: the fraction."""
    return Fraction(text.strip().rstrip("%").strip()) / 100


def size_in_bytes(text: str, option: str) -> int:
    """``2TB``, ``1.5 GiB/s``: a number, a decimal unit (binary with an i), whole bytes."""
    match = re.fullmatch(r"([\d.]+)([kmgtp]?)(i?)b?(/s)?", "".join(text.split()).lower(), re.ASCII)
    if match:
        power = " kmgtp".index(match[2] or " ")
        number = int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)
        if number > 0:
            return number
    raise MalformedError(f"{MARKER}: options.{option}: {text!r} is no size")


def wrong_bound(name: str, stated: Any, proven: int) -> list[str]:
    """A defect where a bound is not what its prices prove."""
    if stated == proven:
        return []
    return [f"{MARKER}: certificate: the prices of {name} prove {proven}, not {stated}"]


def most_per_rack(sizes: Iterable[int], replicas: int) -> int:
    """The least maximum of replicas in one rack; all of them where the brokers do not suffice."""
    known = list(sizes)
    return next(
        (m for m in range(1, replicas) if sum(min(n, m) for n in known) >= replicas), replicas
    )
