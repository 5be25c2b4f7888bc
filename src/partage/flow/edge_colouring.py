"""Edge colouring with few colours, where a vertex may have several edges of a colour.

An edge leads from one *tail* (or none) to one or more *heads*. In each colour every vertex is a
head at most ``limit`` times, and sends to at most ``limit`` heads as a tail, except that an edge
with more heads than that may have its tail to itself: an edge needs min(heads, limit) of its tail.
Optionally, a colour has at most ``most`` edges. Heavy edges should get low colours, and the edges
of a colour should have similar weights.

*Lower bound.* The edges into a vertex need ceil(count / limit) colours. Those out of it are a bin
packing (``bin_packing``); for edges with one head its bound is ceil(count / limit), too. All edges
together need ceil(edges / most).

*First fit.* By decreasing weight, each edge gets the lowest colour that is free at all its ends. If
that meets the bound, as it mostly does, it is the result.

*One head each.* That is a bipartite multigraph, and the bound W is always met (König 1916; with
``most``, de Werra 1971). If first fit does not meet it, the edges are split into two parts for the
first w and the other W - w colours (halves): every vertex has at most limit × w of its edges in the
first part and at most limit × (W - w) in the other, and likewise for ``most``. The share w / W of
every edge is a fractional solution, and the constraints are those of a flow, so there is an
integral one (Hoffman and Kruskal 1956); the heaviest is taken. Each part is coloured recursively.

*Several heads.* These edges form a hypergraph, and whether the bound can be met is NP-hard. First
fit opens as many colours as it needs. A tabu search (seeded) then removes colours one by one: the
edges of the last colour evict others, which evict others in turn but stay out of the colour they
were just evicted from, until every edge has a colour again or the step limit is reached. The
heavier half of the edges is not evicted at first, and the heaviest tenth never: one colour less is
not worth longer ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from partage.arrays import Bools, Ints
from partage.flow.bin_packing import fewest_bins_each
from partage.flow.network import Network, minimise

_STEPS, _STEPS_PER_EDGE = (3_000, 60_000), 40
"""Steps of the tabu search: least, most, and per edge in between."""
_EVICTED = ((0.5, 8), (0.9, 1))
"""The shares of the edges, light ones first, that the tabu search evicts, and the divisors of its
steps."""
_TRIED = 8
"""Colours tried per step of the tabu search."""
_FEW = 64
"""Up to this many colours, arrays take more time than they save."""
_COST_SCALE = 10**6
"""Cost of the heaviest edge in a flow: weights are rounded to this scale."""


_End: TypeAlias = tuple[int, list[int], list[dict[int, list[int]]]]
"""A vertex; by vertex the free colours as bits, and the edges by colour, of its kind of end."""


class Edges(Struct, frozen=True, eq=False):
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
    """The lower bound on the number of colours; always met where every edge has one head."""
    if not len(edges.tail):
        return 0
    inside = np.bincount(edges.head, minlength=1)
    bound = max(1, -(-int(inside.max()) // limit))
    some = edges.tail >= 0
    asked, kind = np.unique(np.minimum(edges.heads, limit)[some], return_inverse=True)
    count = np.zeros((edges.vertices, len(asked)), dtype=np.int64)
    np.add.at(count, (edges.tail[some], kind), 1)
    bound = max(bound, int(fewest_bins_each(asked, count, limit).max(initial=0)))
    return bound if most is None else max(bound, -(-len(edges.tail) // most))


def colour(edges: Edges, weight: Ints, limit: int, most: int | None = None) -> Ints:
    """[n] the colour of every edge, from 0 without gaps. Heavy edges choose first, each the lowest
    colour possible."""
    if not len(weight):
        return np.zeros(0, dtype=np.int64)
    bound = fewest_colours(edges, limit, most)
    if (edges.heads == 1).all():
        colours = np.zeros(len(weight), dtype=np.int64)
        _halve(edges, weight, limit, bound, most, np.arange(len(weight)), colours)
    else:
        found = _first_fit(edges, weight, limit, most)
        assert found is not None, "any number of colours is allowed"
        if max(found) >= bound:
            greedy = _Colouring(edges, weight, limit, found, most)
            steps = min(max(_STEPS[0], _STEPS_PER_EDGE * len(weight)), _STEPS[1])
            greedy.reduce_colours(bound, steps)
            found = greedy.of
        colours = np.array(found, dtype=np.int64)
    return np.unique(colours, return_inverse=True)[1].astype(np.int64)


def colour_classes(edges: Edges, weight: Ints, limit: int, most: int | None) -> list[Ints]:
    """The edges of each colour, heavy ones first."""
    if not len(weight):
        return []
    order = np.argsort(-weight, kind="stable")
    colours = colour(edges, weight, limit, most)[order]
    members = order[np.argsort(colours, kind="stable")]
    return np.split(members, np.searchsorted(np.sort(colours), np.arange(1, colours.max() + 1)))


def _halve(
    edges: Edges,
    weight: Ints,
    limit: int,
    colours: int,
    most: int | None,
    chosen: Ints,
    answer: Ints,
) -> None:
    """Colour the ``chosen`` edges, which have one head each, with this many colours, which must
    suffice. The colours are added to those in ``answer``."""
    tail, head = edges.tail[chosen], edges.head[chosen]
    part = Edges(edges.vertices, tail, np.arange(len(chosen) + 1), head)
    found = _first_fit(part, weight[chosen], limit, most, colours)
    if found is not None:
        answer[chosen] += np.array(found, dtype=np.int64)
        return
    first = (colours + 1) // 2
    heavy = _heavier_half(part, weight[chosen], limit, (first, colours - first), most)
    _halve(edges, weight, limit, first, most, chosen[heavy], answer)
    answer[chosen[~heavy]] += first
    _halve(edges, weight, limit, colours - first, most, chosen[~heavy], answer)


def _heavier_half(
    edges: Edges, weight: Ints, limit: int, colours: tuple[int, int], most: int | None
) -> Bools:
    """[n] the edges for the first colours, as heavy as possible such that both parts can be
    coloured: a flow from tails to heads with bounds on both."""
    vertices, n = edges.vertices, len(edges.tail)
    first, rest = colours
    # an extra tail, without bounds, for the edges that have none
    tail = np.where(edges.tail >= 0, edges.tail, vertices)
    leaving = np.bincount(tail, minlength=vertices + 1)
    into = np.bincount(edges.head, minlength=vertices)
    low_out, high_out = np.maximum(leaving - limit * rest, 0), np.minimum(leaving, limit * first)
    low_out[vertices], high_out[vertices] = 0, leaving[vertices]
    low_in, high_in = np.maximum(into - limit * rest, 0), np.minimum(into, limit * first)
    low, high = (0, n) if most is None else (max(0, n - most * rest), min(n, most * first))
    network = Network(2 * vertices + 3, 1)
    source, sink = 2 * vertices + 1, 2 * vertices + 2
    tails, heads = np.arange(vertices + 1), vertices + 1 + np.arange(vertices)
    cost = 1 + (weight / max(int(weight.max()), 1) * _COST_SCALE).astype(np.int64)
    own = network.arcs(tail, vertices + 1 + edges.head, 1, {0: -cost})
    network.arcs(source, tails, high_out - low_out)
    network.arcs(heads, sink, high_in - low_in)
    network.arcs(source, sink, high - low)
    network.supply[tails], network.supply[heads] = low_out, -low_in
    network.supply[[source, sink]] = high - low_out.sum(), low_in.sum() - high
    found = minimise(network, prove_last=False)
    assert found is not None
    return np.asarray(found.flow[own] > 0)


def _by_weight(weight: Ints) -> list[int]:
    """The edges, heavy ones first."""
    order: list[int] = np.argsort(-weight, kind="stable").tolist()
    return order


def _first_fit(
    edges: Edges, weight: Ints, limit: int, most: int | None, colours: int | None = None
) -> list[int] | None:
    """The colour of every edge, heavy edges first, each the lowest that is free at all its ends;
    None where that takes more than ``colours``. Colours are bits: where no edge is, all are set."""
    heads, tail = _heads(edges), edges.tail.tolist()
    asks = np.minimum(edges.heads, limit).tolist()
    free_in = [-1] * edges.vertices
    free_out = {d: [-1] * edges.vertices for d in sorted(set(asks))}
    received: list[dict[int, int]] = [{} for _ in range(edges.vertices)]
    left: list[dict[int, int]] = [{} for _ in range(edges.vertices)]
    of, open_colours, members = [0] * len(tail), -1, [0] * len(tail)
    for e in _by_weight(weight):
        free = open_colours
        for v in heads[e]:
            free &= free_in[v]
        v, d = tail[e], asks[e]
        if v >= 0:
            free &= free_out[d][v]
        bit = free & -free
        a = of[e] = bit.bit_length() - 1
        if a == colours:
            return None
        for head in heads[e]:
            count = received[head].get(a, 0) + 1
            received[head][a] = count
            if count == limit:
                free_in[head] ^= bit
        if v >= 0:
            was = left[v].get(a, limit)
            now = left[v][a] = was - d
            for asked, mask in free_out.items():
                if now < asked <= was:
                    mask[v] ^= bit
        members[a] += 1
        if members[a] == most:
            open_colours ^= bit
    return of


def _heads(edges: Edges) -> list[list[int]]:
    heads = edges.head.tolist()
    return [heads[i:j] for i, j in pairwise(edges.start.tolist())]


class _Colouring:
    """A partial colouring, at first ``colours``, and for each vertex those that are free, as bits.

    ``into[v][a]``, ``out_of[v][a]``: edges of colour a at v; ``sent[v][a]``: capacity that those
    out of it use. ``free_in[v]``: the colours in which v can be a head once more;
    ``free_out[d][v]``: in which it can be the tail of an edge that needs d. ``of[e]``: the edge's
    colour, -1 while it has none; ``members[a]``: the edges of colour a; ``open``: the colours with
    fewer than ``most`` edges. Edges heavier than ``heavy`` are not evicted.
    """

    def __init__(
        self, edges: Edges, weight: Ints, limit: int, colours: list[int], most: int | None
    ) -> None:
        self.heads, self.tail = _heads(edges), edges.tail.tolist()
        self.asks: list[int] = [min(len(h), limit) for h in self.heads]
        self.weight: list[int] = weight.tolist()
        self.heavy = 0
        self.limit, self.most, self.colours = limit, most, max(colours) + 1
        every = (1 << self.colours) - 1
        self.into: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.out_of: list[dict[int, list[int]]] = [{} for _ in range(edges.vertices)]
        self.sent: list[dict[int, int]] = [{} for _ in range(edges.vertices)]
        self.free_in = [every] * edges.vertices
        self.free_out = {d: [every] * edges.vertices for d in sorted(set(self.asks))}
        self.ends: dict[int, list[_End]] = {}
        self.of = [-1] * len(self.heads)
        self.members: list[dict[int, None]] = [{} for _ in range(self.colours)]
        self.open = every
        for e in _by_weight(weight):
            self.put(e, colours[e])

    # ---------------------------------------------------------------- one edge

    def free(self, e: int) -> int:
        """The colours that are free at all ends of the edge."""
        found = (1 << self.colours) - 1
        for v in self.heads[e]:
            found &= self.free_in[v]
        tail = self.tail[e]
        return found & self.free_out[self.asks[e]][tail] if tail >= 0 else found

    def put(self, e: int, a: int) -> None:
        """Give the edge the colour."""
        bit, limit = 1 << a, self.limit
        self.of[e] = a
        for v in self.heads[e]:
            present = self.into[v].setdefault(a, [])
            present.append(e)
            if len(present) == limit:
                self.free_in[v] ^= bit
        v = self.tail[e]
        if v >= 0:
            self.out_of[v].setdefault(a, []).append(e)
            self._send(v, a, self.asks[e])
        self.members[a][e] = None
        if len(self.members[a]) == self.most:
            self.open ^= bit

    def take(self, e: int) -> int:
        """Remove the colour of the edge and return it."""
        a = self.of[e]
        self.of[e] = -1
        bit, limit = 1 << a, self.limit
        for v in self.heads[e]:
            present = self.into[v][a]
            if len(present) == limit:
                self.free_in[v] ^= bit
            present.remove(e)
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
        for d, free in self.free_out.items():
            if (left >= d) is not (left_now >= d):
                free[v] ^= 1 << a

    def add_colour(self) -> int:
        """Add a colour, free everywhere."""
        bit = 1 << self.colours
        for free in (self.free_in, *self.free_out.values()):
            free[:] = [mask | bit for mask in free]
        self.open |= bit
        self.members.append({})
        self.colours += 1
        return self.colours - 1

    # ---------------------------------------------------------------- fewer colours

    def _ends(self, e: int) -> list[_End]:
        """The ends of the edge: its heads, then its tail."""
        if e not in self.ends:
            ends = self.ends[e] = [(v, self.free_in, self.into) for v in self.heads[e]]
            if self.tail[e] >= 0:
                ends.append((self.tail[e], self.free_out[self.asks[e]], self.out_of))
        return self.ends[e]

    def reduce_colours(self, bound: int, steps: int) -> None:
        """Remove colours down to the bound, as long as the tabu search finds other colours for
        their edges: with a part of so many steps while it evicts the lighter half of the edges, and
        all of them while it evicts all but the heaviest."""
        random, ascending = Random(0), sorted(self.weight)
        for share, part in _EVICTED:
            self.heavy, left = ascending[int(share * len(ascending))], steps // part
            while self.colours > bound:
                before = list(self.of)
                uncoloured = list(self.members[-1])
                for e in uncoloured:
                    self.take(e)
                self._drop_colour()
                left = self._recolour(uncoloured, left, random)
                if uncoloured:
                    self.add_colour()
                    self._restore(before)
                    break

    def _recolour(self, uncoloured: list[int], steps: int, random: Random) -> int:
        """Colour these edges and those that they evict; what is left in the list has no colour when
        the steps are used up. Returns the steps left."""
        # by edge and colour: tabu until this many steps are left
        tabu_until: defaultdict[int, dict[int, int]] = defaultdict(dict)
        while uncoloured and steps:
            steps -= 1
            e = uncoloured.pop(random.randrange(len(uncoloured)))
            free = self.free(e) & self.open
            evicted: list[int] | None = []
            a = _lowest(free)
            if not free:
                tabu = sum(1 << a for a, until in tabu_until[e].items() if until < steps)
                for a in self._least_blocked(e, tabu, random):
                    evicted = self._evict(e, a, random)
                    if evicted is not None:
                        break
                else:
                    uncoloured.append(e)
                    continue
            self.put(e, a)
            for f in evicted or ():
                uncoloured.append(f)
                tabu_until[f][a] = steps - 10 - random.randrange(len(uncoloured) + 10)
        return steps

    def _restore(self, before: list[int]) -> None:
        """Give every edge the colour that it had."""
        moved = [e for e, a in enumerate(before) if self.of[e] != a]
        for e in moved:
            if self.of[e] >= 0:
                self.take(e)
        for e in moved:
            self.put(e, before[e])

    def _least_blocked(self, e: int, tabu: int, random: Random) -> list[int]:
        """A few of the colours blocked by the fewest ends of the edge, without the ``tabu``
        ones."""
        level = [(1 << self.colours) - 1 & ~tabu]  # level[i]: the colours blocked by i ends or more
        for free in (*(free[v] for v, free, _ in self._ends(e)), self.open):
            level.append(0)
            for i in range(len(level) - 1, 0, -1):
                level[i] |= level[i - 1] & ~free
        for blocked, by_more in pairwise((*level, 0)):
            if blocked & ~by_more:
                found = _bits(blocked & ~by_more)
                return random.sample(found, min(len(found), _TRIED))
        return []

    def _evict(self, e: int, a: int, random: Random) -> list[int] | None:
        """Remove the colour from edges that block it for this edge, and return them; None, without
        any change, where a heavy edge blocks it."""
        evicted: list[int] = []
        for v, free, edges in self._ends(e):
            while not free[v] >> a & 1:
                if not self._evict_one(edges[v][a], evicted, random):
                    for f in evicted:
                        self.put(f, a)
                    return None
        if not self.open >> a & 1 and not self._evict_one(self.members[a], evicted, random):
            return None
        return evicted

    def _evict_one(self, present: Iterable[int], evicted: list[int], random: Random) -> bool:
        """Remove the colour of one of these edges; False where all are heavy."""
        light = [f for f in present if self.weight[f] <= self.heavy]
        if light:
            any_one = random.choice(light)
            evicted.append(next((f for f in light if self.free(f)), any_one))
            self.take(evicted[-1])
        return bool(light)

    def _drop_colour(self) -> None:
        """Remove the last colour, which no edge has."""
        self.colours -= 1
        every = (1 << self.colours) - 1
        for free in (self.free_in, *self.free_out.values()):
            free[:] = [mask & every for mask in free]
        self.open &= every
        self.members.pop()


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> list[int]:
    """Positions of the bits that are set, ascending."""
    width = bits.bit_length()
    if width <= _FEW:
        return [a for a in range(width) if bits >> a & 1]
    raw = np.frombuffer(bits.to_bytes(width // 8 + 1, "little"), dtype=np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(raw, bitorder="little")).tolist()
    return found
