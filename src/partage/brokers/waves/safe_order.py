"""A safe order of single partitions: each fits on its disks after those before it.

A wave of one partition needs the least space, so if no such order exists, no schedule of waves
does. The search follows the banker's algorithm (Dijkstra, EWD 108, 1965). A *harmless* partition
goes only to brokers with space for everything that is still coming to them: it can go at once,
because no order becomes worse by that. Of the others every one that fits is tried, depth first, up
to a number of steps; a state is not entered twice. If everything was tried, it is proven that no
order exists.
"""

from __future__ import annotations

import numpy as np

from partage.brokers.waves.changes import Changes, short_of_space

_MAX_STEPS = 4_000
"""Partitions that the search puts in order, for each of its two preferences."""
_MAX_BACKTRACKING = 200
"""With more partitions left than this, the search does not backtrack."""


class DeadEndError(Exception):
    """No order exists, or none was found: ``change`` lacks ``lacking`` bytes on ``broker``.
    ``proven``: no order exists."""

    def __init__(self, change: int, broker: int, lacking: int) -> None:
        super().__init__(change, broker)
        self.change, self.broker, self.lacking = change, broker, lacking
        self.proven = False


def safe_order(changes: Changes, done: list[int], remaining: list[int]) -> list[int]:
    """The ``remaining`` changes in a safe order, after those ``done``. Raises DeadEndError."""
    dead_end: DeadEndError | None = None
    for large_first in (True, False):
        search = _Search(changes, done, remaining, large_first)
        if search.run():
            return search.order
        dead_end = search.dead_end
        if dead_end.proven:
            break
    assert dead_end is not None
    raise dead_end


class _Search:
    """The state of the search: the ``order`` so far, the changes ``left`` [n], the ``free`` bytes
    [B] and those still ``incoming`` [B]."""

    def __init__(
        self, changes: Changes, done: list[int], remaining: list[int], large_first: bool
    ) -> None:
        self.changes, self.sign = changes, -1 if large_first else 1
        self.free = changes.free.copy()
        for change in done:
            self._update_free(change, 1)
        self.left = np.zeros(len(changes.size), dtype=np.bool_)
        self.left[remaining] = True
        self.incoming = changes.fetched_by(self.left)
        self.order: list[int] = []
        self.fewest_left = len(changes.size) + 1
        self.dead_end = DeadEndError(-1, -1, 0)

    def run(self) -> bool:
        """Whether an order was found; if not, ``dead_end`` is set."""
        self._append_harmless()
        if self.left.sum() > _MAX_BACKTRACKING:
            return self._without_backtracking()
        return self._depth_first()

    def _without_backtracking(self) -> bool:
        chosen = False
        while self.left.any():
            candidates = self._candidates()
            if not candidates:
                self._note_dead_end()
                self.dead_end.proven = not chosen
                return False
            for change in candidates:
                size = self.changes.sizes[change]
                targets = self.changes.targets[change]
                if not size or all(size <= self.free[b] for b in targets):
                    self._append(change)
            chosen = True
            self._append_harmless()
        return True

    def _depth_first(self) -> bool:
        seen: set[bytes] = set()
        stack = [(len(self.order), self._candidates())]
        steps = _MAX_STEPS
        while self.left.any():
            length, candidates = stack[-1]
            while len(self.order) > length:
                self._remove_last()
            if not candidates:
                self._note_dead_end()
                stack.pop()
                if not stack:
                    self.dead_end.proven = True
                    return False
                continue
            if not steps:
                return False
            steps -= 1
            self._append(candidates.pop(0))
            self._append_harmless()
            state = np.packbits(self.left).tobytes()
            if state not in seen:
                seen.add(state)
                stack.append((len(self.order), self._candidates()))
        return True

    def _candidates(self) -> list[int]:
        """The changes that fit now, in the order in which they are tried: those that free a disk
        short of space first, then by size."""
        changes = self.changes
        fit = np.flatnonzero(self.left & changes.fitting(self.free))
        short = short_of_space(self.free, self.incoming)
        helping = changes.dropping[short[changes.freed]]
        helps = np.bincount(helping, minlength=len(changes.size)) > 0
        order = np.lexsort((fit, self.sign * changes.size[fit], ~helps[fit]))
        return [int(change) for change in fit[order]]

    def _append_harmless(self) -> None:
        while True:
            short = short_of_space(self.free, self.incoming)
            harmless = np.flatnonzero(self.left & ~self.changes.going_to(short))
            if not len(harmless):
                return
            for change in harmless.tolist():
                self._append(change)

    def _append(self, change: int) -> None:
        self._update_free(change, 1)
        self.order.append(change)
        self.left[change] = False
        for b in self.changes.targets[change]:
            self.incoming[b] -= self.changes.sizes[change]

    def _remove_last(self) -> None:
        change = self.order.pop()
        self._update_free(change, -1)
        self.left[change] = True
        for b in self.changes.targets[change]:
            self.incoming[b] += self.changes.sizes[change]

    def _update_free(self, change: int, sign: int) -> None:
        for b in self.changes.targets[change]:
            self.free[b] -= sign * self.changes.sizes[change]
        for b in self.changes.drops[change]:
            self.free[b] += sign * self.changes.sizes[change]

    def _note_dead_end(self) -> None:
        """Remember what lacks least, at the dead end with the fewest changes left."""
        left = np.flatnonzero(self.left)
        if len(left) >= self.fewest_left:
            return
        lacking = [
            (self.changes.sizes[change] - int(self.free[b]), int(change), b)
            for change in left.tolist()
            for b in self.changes.targets[change]
            if self.changes.sizes[change] > max(int(self.free[b]), 0)
        ]
        if lacking:
            self.fewest_left = len(left)
            least, change, broker = min(lacking)
            self.dead_end = DeadEndError(change, broker, least)
