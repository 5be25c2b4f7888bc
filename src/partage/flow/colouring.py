"""Edges in as few colours as can be, where a vertex bears several edges of a colour.

An edge leads from one *tail* (or none) to one or more *heads*. In each colour every vertex is a
head at most ``limit`` times, and sends to at most ``limit`` heads as a tail, except that one edge
which has more heads than that may have its tail to itself: in other words, an edge asks its tail
for min(heads, limit). Perhaps a colour holds at most ``most`` edges.

*The bound.* The edges into a vertex need ceil(count / limit) colours. Those out of it are a bin
packing, of which the bound of Martello and Toth is taken (Discrete Applied Mathematics 28, 1990);
for edges of one head it is ceil(count / limit) too. And all edges need ceil(edges / most).

*One head each.* That is a bipartite multigraph, and the bound is always met: split every vertex
into copies whose degree is at most the bound; then König's theorem (1916) colours it. Edges take
the lowest colour that is free at both ends. If none is, some colour a is free at the tail and some
b at the head: the edges of a and b that hang together at the head change colours, which makes a
free there. They are a path, because at every vertex the edges of a are paired off with those of b,
and by parity it cannot reach the tail. No copies are made: pairing the i-th edge of a with the i-th
of b at each vertex does the same and leaves more freedom. Classes above ``most`` give edges to
smaller ones by the same exchange: of the paths of two classes one has more edges of the larger (de
Werra: Equitable colorations of graphs, RIRO 5, 1971).

*Several heads.* Such edges form no graph, and whether the bound can be met is NP-hard to tell. The
same exchanges are tried, though paths may branch now; what still finds no colour gets a new one.
Edges choose in the order given, or those of several heads first, whichever needs fewer colours.
Then colours are given up one by one: the edges of the last push others out of theirs, which do the
same, never back to where they were pushed out a moment ago (a tabu search, seeded), until every
edge has a colour again or the steps are used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_STEPS = 60_000
"""Edges that are given a colour by pushing others out, at most."""
_PATHS, _LONGEST = 12, 400
"""Pairs of colours whose exchange is tried, and edges exchanged at most, where paths may branch."""


@dataclass(frozen=True, eq=False)
class Edges:
    """``tail`` [n], -1 where there is none; the heads of edge e are
    ``head[start[e]:start[e + 1]]``, all different; vertices are counted from 0 to ``vertices``."""

    vertices: int
    tail: Ints
    start: Ints
    head: Ints

    @property
    def heads(self) -> Ints:
        """[n] how many heads each edge has."""
        return np.diff(self.start)


def fewest_colours(edges: Edges, limit: int, most: int | None = None) -> int:
    """A lower bound on the colours, see above; met where every edge has one head."""
    if not len(edges.tail):
        return 0
    inside = np.bincount(edges.head, minlength=1)
    bound = max(1, -(-int(inside.max()) // limit))
    some = edges.tail >= 0
    asked, kind = np.unique(np.minimum(edges.heads, limit)[some], return_inverse=True)
    count = np.zeros((edges.vertices, len(asked)), dtype=np.int64)
    np.add.at(count, (edges.tail[some], kind), 1)
    for small in (0, *(d for d in asked.tolist() if 2 * d <= limit)):
        alone = count[:, asked > limit - small].sum(axis=1)
        middle = (asked <= limit - small) & (2 * asked > limit)
        room = (count[:, middle] * (limit - asked[middle])).sum(axis=1)
        light = (asked >= small) & (2 * asked <= limit)
        rest = (count[:, light] * asked[light]).sum(axis=1) - room
        bins = alone + count[:, middle].sum(axis=1) + np.maximum(-(-rest // limit), 0)
        bound = max(bound, int(bins.max(initial=0)))
    return bound if most is None else max(bound, -(-len(edges.tail) // most))


def colour(edges: Edges, order: Ints, limit: int, most: int | None = None) -> Ints:
    """[n] a colour from 0 of every edge; no colour is left out. The edges choose in ``order``, each
    the lowest that it can have."""
    if not len(order):
        return np.zeros(0, dtype=np.int64)
    bound = fewest_colours(edges, limit, most)
    best = _Colouring(edges, limit, bound, most)
    best.run(order)
    if best.colours > bound:
        several = edges.heads[order] > 1
        other = _Colouring(edges, limit, bound, most)
        other.run(np.concatenate((order[several], order[~several])))
        if other.colours < best.colours:
            best = other
        best.squeeze(bound, _STEPS)
    return np.unique(best.of, return_inverse=True)[1].astype(np.int64)


class _Colouring:
    """Edges with colours, and for each vertex the colours that it has room for, as bits.

    ``into[v][a]``, ``out_of[v][a]``: edges of colour a at v; ``sent[v][a]``: what those out of it
    ask for. ``room_in[v]``: the colours in which v may be a head once more; ``room_out[d][v]``: in
    which it can bear an edge that asks for d. ``of[e]``: the edge's colour, -1 while it has none;
    ``members[a]``: the edges that have a; ``open``: the colours of fewer than ``most`` edges.
    """

    def __init__(self, edges: Edges, limit: int, colours: int, most: int | None) -> None:
        heads, start = edges.head.tolist(), edges.start.tolist()
        self.heads: list[list[int]] = [heads[i:j] for i, j in pairwise(start)]
        self.tail: list[int] = edges.tail.tolist()
        self.asks: list[int] = [min(len(h), limit) for h in self.heads]
        self.limit, self.most, self.colours = limit, most, colours
        self.plain = all(len(h) == 1 for h in self.heads)
        every = (1 << colours) - 1
        self.into: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.out_of: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.sent: list[dict[int, int]] = [{} for _ in range(edges.vertices)]
        self.room_in = [every] * edges.vertices
        self.room_out = {d: [every] * edges.vertices for d in sorted(set(self.asks))}
        self.of = [-1] * len(self.heads)
        self.members: list[dict[int, None]] = [{} for _ in range(colours)]
        self.open = every

    def run(self, order: Ints) -> None:
        """Colour every edge."""
        for e in order.tolist():
            free = self.free(e)
            if free:
                self.put(e, _lowest(free & self.open or free))
            elif not (self.by_path(e)):
                self.put(e, self.add_colour())
        if self.most is not None:
            self.even_out(self.most)

    # ---------------------------------------------------------------- one edge

    def free(self, e: int) -> int:
        """The colours that the edge can have."""
        found = (1 << self.colours) - 1
        for v in self.heads[e]:
            found &= self.room_in[v]
        tail = self.tail[e]
        return found & self.room_out[self.asks[e]][tail] if tail >= 0 else found

    def put(self, e: int, a: int) -> None:
        """Give the edge the colour."""
        bit, limit = 1 << a, self.limit
        self.of[e] = a
        for v in self.heads[e]:
            there = self.into[v].setdefault(a, [])
            there.append(e)
            if len(there) == limit:
                self.room_in[v] ^= bit
        v = self.tail[e]
        if v >= 0:
            self.out_of[v].setdefault(a, []).append(e)
            self._send(v, a, self.asks[e])
        self.members[a][e] = None
        if len(self.members[a]) == self.most:
            self.open ^= bit

    def take(self, e: int) -> int:
        """Take the edge's colour from it, and return it."""
        a = self.of[e]
        self.of[e] = -1
        bit, limit = 1 << a, self.limit
        for v in self.heads[e]:
            there = self.into[v][a]
            if len(there) == limit:
                self.room_in[v] ^= bit
            there.remove(e)
        v = self.tail[e]
        if v >= 0:
            self.out_of[v][a].remove(e)
            self._send(v, a, -self.asks[e])
        if len(self.members[a]) == self.most:
            self.open ^= bit
        del self.members[a][e]
        return a

    def _send(self, v: int, a: int, more: int) -> None:
        was = self.sent[v].get(a, 0)
        self.sent[v][a] = was + more
        left, left_now = self.limit - was, self.limit - was - more
        for d, room in self.room_out.items():
            if (left >= d) is not (left_now >= d):
                room[v] ^= 1 << a

    def add_colour(self) -> int:
        """One colour more, free everywhere."""
        bit = 1 << self.colours
        for room in (self.room_in, *self.room_out.values()):
            room[:] = [mask | bit for mask in room]
        self.open |= bit
        self.members.append({})
        self.colours += 1
        return self.colours - 1

    # ---------------------------------------------------------------- exchanges

    def _rooms(self, e: int) -> list[int]:
        """The colours that each end of the edge has room for: the heads', then the tail's."""
        rooms = [self.room_in[v] for v in self.heads[e]]
        if self.tail[e] >= 0:
            rooms.append(self.room_out[self.asks[e]][self.tail[e]])
        return rooms

    def _at(self, e: int, end: int) -> dict[int, list[int]]:
        """The edges by colour at one end of the edge, counted as in ``_rooms``."""
        heads = self.heads[e]
        return self.into[heads[end]] if end < len(heads) else self.out_of[self.tail[e]]

    def _nearly(self, e: int) -> Iterator[tuple[int, int]]:
        """(end, colour) where only that end keeps the edge from having the colour."""
        rooms = self._rooms(e)
        every = (1 << self.colours) - 1
        for end in reversed(range(len(rooms))):
            others = every
            for i, room in enumerate(rooms):
                if i != end:
                    others &= room
            for a in _bits(others & ~rooms[end]):
                yield end, a

    def by_path(self, e: int) -> bool:
        """Colour the edge by exchanging two colours along a path from one of its ends; or change
        nothing. It always succeeds where all edges have one head."""
        rooms = self._rooms(e)
        tries = 0
        for end, a in self._nearly(e):
            for b in _bits(rooms[end]):
                tries += 1
                if not self.plain and tries > _PATHS:
                    return False
                there = self._at(e, end)
                # an edge of a that no edge of b is paired with
                path = self._hanging(there[a][-1], a, b, None if self.plain else _LONGEST)
                if path is None:
                    continue
                self._exchange(path, a, b)
                if self.free(e) >> a & 1:
                    self.put(e, a)
                    return True
                self._exchange(path, a, b)
        return False

    def _hanging(self, e: int, a: int, b: int, longest: int | None) -> list[int] | None:
        """The edges of the colours a and b that must change together with this one."""
        found, seen = [e], {e}

        def add(others: list[int]) -> None:
            for f in others:
                if f not in seen:
                    seen.add(f)
                    found.append(f)

        for f in found:
            if longest is not None and len(found) > longest:
                return None
            mine, other = (a, b) if self.of[f] == a else (b, a)
            for v in self.heads[f]:
                partners = self.into[v].get(other)
                if partners:
                    add(_paired(f, self.into[v][mine], partners))
            v = self.tail[f]
            if v < 0:
                continue
            same, partners = self.out_of[v][mine], self.out_of[v].get(other, [])
            if self.sent[v][mine] == len(same) and self.sent[v].get(other, 0) == len(partners):
                add(_paired(f, same, partners))
            else:  # they ask for different amounts: all of them change
                add(same)
                add(partners)
        return found

    def _exchange(self, path: list[int], a: int, b: int) -> None:
        for e, was in [(e, self.take(e)) for e in path]:
            self.put(e, b if was == a else a)

    def squeeze(self, bound: int, steps: int) -> None:
        """Give up colours down to the bound, as far as every edge finds another in that many steps:
        one without a colour pushes out others, which stay away from it for a while."""
        random = Random(0)
        while self.colours > bound:
            was = list(self.of)
            homeless = [e for e, a in enumerate(was) if a == self.colours - 1]
            for e in homeless:
                self.take(e)
            self._drop_colour()
            away: dict[tuple[int, int], int] = {}  # until how many steps are left
            while homeless and steps:
                steps -= 1
                e = homeless.pop(random.randrange(len(homeless)))
                free = self.free(e) & self.open
                if free:
                    self.put(e, _lowest(free))
                    continue
                a = self._easiest(e, away, steps, random)
                out = []
                for end in range(len(self._rooms(e))):
                    while not self._rooms(e)[end] >> a & 1:
                        there = self._at(e, end)[a]
                        out.append(next((f for f in there if self.free(f)), random.choice(there)))
                        self.take(out[-1])
                if not self.open >> a & 1:
                    out.append(random.choice(list(self.members[a])))
                    self.take(out[-1])
                self.put(e, a)
                for f in out:
                    homeless.append(f)
                    away[f, a] = steps - 10 - random.randrange(len(homeless) + 10)
            if homeless:
                self.add_colour()
                moved = [e for e, a in enumerate(was) if self.of[e] != a]
                for e in moved:
                    if self.of[e] >= 0:
                        self.take(e)
                for e in moved:
                    self.put(e, was[e])
                return

    def _easiest(self, e: int, away: dict[tuple[int, int], int], steps: int, random: Random) -> int:
        """A colour that as little as can be keeps the edge from having, and that it need not stay
        away from."""
        rooms = [*self._rooms(e), self.open]
        every = (1 << self.colours) - 1
        level = [every, *[0] * len(rooms)]  # level[i]: the colours that i of them have
        for room in rooms:
            for i in range(len(rooms), 0, -1):
                level[i] |= level[i - 1] & room
        for colours in reversed(level):
            found = [a for a in _bits(colours) if away.get((e, a), steps) >= steps]
            if found:
                return random.choice(found)
        return random.randrange(self.colours)

    def _drop_colour(self) -> None:
        """The last colour, which no edge has, away."""
        self.colours -= 1
        every = (1 << self.colours) - 1
        for room in (self.room_in, *self.room_out.values()):
            room[:] = [mask & every for mask in room]
        self.open &= every
        self.members.pop()

    def even_out(self, most: int) -> None:
        """No colour of more than ``most`` edges."""
        while True:
            size = [len(members) for members in self.members]
            large = max(range(self.colours), key=lambda a: (size[a], -a))
            if size[large] <= most:
                return
            small = sorted(range(self.colours), key=lambda a: (size[a], a))
            if not any(self._give(large, b, most) for b in small if size[b] < most):
                b = self.add_colour()
                for e in list(self.members[large])[most:][:most]:
                    self.take(e)
                    self.put(e, b)

    def _give(self, a: int, b: int, most: int) -> bool:
        """Exchange paths so that a loses edges and b gains; whether there were any."""
        seen: set[int] = set()
        chosen: list[int] = []
        size_a, size_b = len(self.members[a]), len(self.members[b])
        for e in (*self.members[a], *self.members[b]):
            if e in seen:
                continue
            path = self._hanging(e, a, b, None)
            assert path is not None
            seen.update(path)
            more = sum(1 if self.of[f] == a else -1 for f in path)
            if more > 0 and size_a > most and size_b + more <= most:
                chosen += path
                size_a, size_b = size_a - more, size_b + more
        self._exchange(chosen, a, b)
        return bool(chosen)


def _paired(e: int, same: list[int], partners: list[int]) -> list[int]:
    """The partner of the edge, where it has one."""
    place = same.index(e)
    return partners[place : place + 1]


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Iterator[int]:
    """The places of the bits that are set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
