"""Edges in as few colours as can be, where a vertex bears several edges of a colour.

An edge leads from one *tail* (or none) to one or more *heads*. In each colour every vertex is a
head at most ``limit`` times, and sends to at most ``limit`` heads as a tail, except that one edge
which has more heads than that may have its tail to itself: in other words, an edge asks its tail
for min(heads, limit). Perhaps a colour holds at most ``most`` edges. Heavy edges are wanted in the
low colours, and edges of a colour to weigh about the same.

*The bound.* The edges into a vertex need ceil(count / limit) colours. Those out of it are a bin
packing, of which the bound of Martello and Toth is taken (Discrete Applied Mathematics 28, 1990);
for edges of one head it is ceil(count / limit) too. And all edges need ceil(edges / most).

*First fit.* By falling weight each edge takes the lowest colour that is free at all its ends. Where
that meets the bound, as it mostly does, it is the answer.

*One head each.* That is a bipartite multigraph, and the bound W is always met (König 1916; with
``most``, de Werra 1971). Where first fit does not meet it, the edges are split in two parts for the
first half and the second half of the colours, w and W - w of them: a part of the edges such that
every vertex keeps at most limit × w of its edges in it and at most limit × (W - w) outside, and
likewise for ``most``. The share w / W of every edge is a fractional such part, and the problem is a
flow, so there is a whole one (Hoffman and Kruskal 1956); the heaviest is taken. Each part is
coloured likewise; with one colour nothing is left to decide.

*Several heads.* Such edges form no graph, and whether the bound can be met is NP-hard to tell.
First fit opens as many colours as it needs. Then they are given up one by one: the edges of the
last push others out of theirs, which do the same, never back to where they were pushed out a moment
ago (a tabu search, seeded), until every edge has a colour again or the steps are used up. The
heavier half of the edges stays where it is: a colour less is not worth longer ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
import numpy.typing as npt

from partage.flow.network import Network, minimise

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_STEPS, _STEPS_EACH = (3_000, 60_000), 40
"""Edges that are given a colour by pushing others out: from, to, and for each edge between."""
_TRIED = 8
"""Colours tried in which nothing but light edges should be in the way."""
_FINE = 10**6
"""What the heaviest edge costs in a flow: weights are rounded to that scale."""


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


def colour(edges: Edges, weight: Ints, limit: int, most: int | None = None) -> Ints:
    """[n] a colour from 0 of every edge; no colour is left out. The heaviest edges choose first,
    each the lowest that it can have."""
    if not len(weight):
        return np.zeros(0, dtype=np.int64)
    bound = fewest_colours(edges, limit, most)
    if (edges.heads == 1).all():
        colours = np.zeros(len(weight), dtype=np.int64)
        _halve(edges, weight, limit, bound, most, np.arange(len(weight)), colours)
    else:
        greedy = _Colouring(edges, weight, limit, bound, most)
        greedy.run()
        greedy.squeeze(bound, min(max(_STEPS[0], _STEPS_EACH * len(weight)), _STEPS[1]))
        colours = np.array(greedy.of, dtype=np.int64)
    return np.unique(colours, return_inverse=True)[1].astype(np.int64)


def _halve(
    edges: Edges,
    weight: Ints,
    limit: int,
    colours: int,
    most: int | None,
    chosen: Ints,
    answer: Ints,
) -> None:
    """Colour the ``chosen`` edges, of one head each, with so many colours, which are enough: added
    to what they have in ``answer``."""
    tail, head = edges.tail[chosen], edges.head[chosen]
    part = Edges(edges.vertices, tail, np.arange(len(chosen) + 1), head)
    greedy = _Colouring(part, weight[chosen], limit, colours, most)
    if greedy.run(more=False) <= colours:
        answer[chosen] += np.array(greedy.of, dtype=np.int64)
        return
    first = (colours + 1) // 2
    heavy = _heavier_half(part, weight[chosen], limit, (first, colours - first), most)
    _halve(edges, weight, limit, first, most, chosen[heavy], answer)
    answer[chosen[~heavy]] += first
    _halve(edges, weight, limit, colours - first, most, chosen[~heavy], answer)


def _heavier_half(
    edges: Edges, weight: Ints, limit: int, colours: tuple[int, int], most: int | None
) -> Bools:
    """[n] the edges for the first so many colours, as heavy as can be, so that they and the others
    can be coloured: a flow from the tails to the heads with bounds on both."""
    vertices, n = edges.vertices, len(edges.tail)
    first, rest = colours
    # a last tail for the edges that have none, and no bound on it
    tail = np.where(edges.tail >= 0, edges.tail, vertices)
    out = np.bincount(tail, minlength=vertices + 1)
    into = np.bincount(edges.head, minlength=vertices)
    low_out, high_out = np.maximum(out - limit * rest, 0), np.minimum(out, limit * first)
    low_out[vertices], high_out[vertices] = 0, out[vertices]
    low_in, high_in = np.maximum(into - limit * rest, 0), np.minimum(into, limit * first)
    low, high = (0, n) if most is None else (max(0, n - most * rest), min(n, most * first))
    network = Network(2 * vertices + 3, 1)
    source, sink = 2 * vertices + 1, 2 * vertices + 2
    tails, heads = np.arange(vertices + 1), vertices + 1 + np.arange(vertices)
    cost = 1 + (weight / max(int(weight.max()), 1) * _FINE).astype(np.int64)
    own = network.arcs(tail, vertices + 1 + edges.head, 1, {0: -cost})
    network.arcs(source, tails, high_out - low_out)
    network.arcs(heads, sink, high_in - low_in)
    network.arcs(source, sink, high - low)
    network.supply[tails], network.supply[heads] = low_out, -low_in
    network.supply[[source, sink]] = high - low_out.sum(), low_in.sum() - high
    found = minimise(network, prove_last=False)
    assert found is not None
    return np.asarray(found.flow[own] > 0)


class _Colouring:
    """Edges with colours, and for each vertex the colours that it has room for, as bits.

    ``into[v][a]``, ``out_of[v][a]``: edges of colour a at v; ``sent[v][a]``: what those out of it
    ask for. ``room_in[v]``: the colours in which v may be a head once more; ``room_out[d][v]``: in
    which it can bear an edge that asks for d. ``of[e]``: the edge's colour, -1 while it has none;
    ``members[a]``: the edges that have a;
    ``open``: the colours of fewer than ``most`` edges.
    Edges that weigh more than ``heavy`` are not pushed out.
    """

    def __init__(
        self, edges: Edges, weight: Ints, limit: int, colours: int, most: int | None
    ) -> None:
        heads, start = edges.head.tolist(), edges.start.tolist()
        self.heads: list[list[int]] = [heads[i:j] for i, j in pairwise(start)]
        self.tail: list[int] = edges.tail.tolist()
        self.asks: list[int] = [min(len(h), limit) for h in self.heads]
        self.weight: list[int] = weight.tolist()
        self.heavy = 0
        self.limit, self.most, self.colours = limit, most, colours
        every = (1 << colours) - 1
        self.into: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.out_of: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.sent: list[dict[int, int]] = [{} for _ in range(edges.vertices)]
        self.room_in = [every] * edges.vertices
        self.room_out = {d: [every] * edges.vertices for d in sorted(set(self.asks))}
        self.of = [-1] * len(self.heads)
        self.members: list[dict[int, None]] = [{} for _ in range(colours)]
        self.open = every

    def run(self, *, more: bool = True) -> int:
        """First fit, by falling weight; returns the colours. With not ``more`` than it has at
        first it stops where they do not suffice, and returns one more."""
        for e in sorted(range(len(self.heads)), key=lambda e: -self.weight[e]):
            free = self.free(e) & self.open
            if not free and not more:
                return self.colours + 1
            self.put(e, _lowest(free) if free else self.add_colour())
        return self.colours

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

    # ---------------------------------------------------------------- fewer colours

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

    def squeeze(self, bound: int, steps: int) -> None:
        """Give up colours down to the bound, as far as every edge finds another in that many steps:
        one without a colour pushes out others, which stay away from it for a while."""
        random = Random(0)
        self.heavy = sorted(self.weight)[len(self.weight) // 2]
        while self.colours > bound:
            was = list(self.of)
            homeless = list(self.members[-1])
            for e in homeless:
                self.take(e)
            self._drop_colour()
            # the colours that an edge stays away from, until how many steps are left
            away: defaultdict[int, dict[int, int]] = defaultdict(dict)
            while homeless and steps:
                steps -= 1
                e = homeless.pop(random.randrange(len(homeless)))
                free = self.free(e) & self.open
                out: list[int] | None = []
                a = _lowest(free)
                if not free:
                    shun = sum(1 << a for a, until in away[e].items() if until < steps)
                    for a in self._easiest(e, shun, random):
                        out = self._push_out(e, a, random)
                        if out is not None:
                            break
                    else:
                        homeless.append(e)
                        continue
                self.put(e, a)
                for f in out or ():
                    homeless.append(f)
                    away[f][a] = steps - 10 - random.randrange(len(homeless) + 10)
            if homeless:
                self.add_colour()
                moved = [e for e, a in enumerate(was) if self.of[e] != a]
                for e in moved:
                    if self.of[e] >= 0:
                        self.take(e)
                for e in moved:
                    self.put(e, was[e])
                return

    def _easiest(self, e: int, shun: int, random: Random) -> list[int]:
        """A few colours that as little as can be keeps the edge from having, none of ``shun``."""
        rooms = [*self._rooms(e), self.open]
        every = (1 << self.colours) - 1
        level = [every, *[0] * len(rooms)]  # level[i]: the colours that i of them have
        for room in rooms:
            for i in range(len(rooms), 0, -1):
                level[i] |= level[i - 1] & room
        for i in range(len(rooms) - 1, -1, -1):
            found = _bits(level[i] & ~level[i + 1] & ~shun)
            if len(found):
                tried = random.sample(range(len(found)), min(len(found), _TRIED))
                return [int(a) for a in found[tried]]
        return []

    def _push_out(self, e: int, a: int, random: Random) -> list[int] | None:
        """Take the colour from those that keep the edge from having it, and return them; None, and
        nothing is done, where a heavy one does."""
        out: list[int] = []

        def push(there: Iterable[int]) -> bool:
            light = [f for f in there if self.weight[f] <= self.heavy]
            if light:
                out.append(next((f for f in light if self.free(f)), random.choice(light)))
                self.take(out[-1])
            return bool(light)

        for end in range(len(self._rooms(e))):
            while not self._rooms(e)[end] >> a & 1:
                if not push(self._at(e, end)[a]):
                    for f in out:
                        self.put(f, a)
                    return None
        if not self.open >> a & 1 and not push(self.members[a]):
            return None
        return out

    def _drop_colour(self) -> None:
        """The last colour, which no edge has, away."""
        self.colours -= 1
        every = (1 << self.colours) - 1
        for room in (self.room_in, *self.room_out.values()):
            room[:] = [mask & every for mask in room]
        self.open &= every
        self.members.pop()


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Ints:
    """The places of the bits that are set, ascending."""
    raw = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))
