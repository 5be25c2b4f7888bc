"""Where ``balance`` load would do visibly better than the plan that was asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from partage.brokers.load.limits import least_excess
from partage.brokers.load.model import HELD, LED, LoadModel
from partage.brokers.options import EXACT
from partage.brokers.problem import Problem
from partage.cluster import Cluster
from partage.flow.load_balancing import MILLION

_VISIBLE = MILLION // 20
"""A distance from the band worth a hint: this share of the fair load."""

_WORDS = {"disk": "disk", "in": "bytes in", "out": "bytes out", "leader_in": "leader bytes in"}


def load_hint(problem: Problem, after: Cluster) -> list[str]:
    """A sentence with the loads that are far outside the bands of ``balance`` load, although
    nothing forbids these; none where rates or sizes are not known, or something else is asked for.
    """
    options, cluster = problem.options, problem.cluster
    other = options.by_load or options.relieve is not None or options.strategy != EXACT
    if other or options.limits.any or problem.rates is None:
        return []
    model = LoadModel.of(problem)
    excess, limits = model.excess(after), least_excess(model)
    found = [
        f"{words} {_span(model, name, after)} %"
        for name, words in _WORDS.items()
        if excess[name] > _VISIBLE
        and limits[name].excess == 0
        and (name != "out" or _reads_known(cluster))
        and not (options.no_moves and name in HELD)
    ]
    if not found:
        return []
    share = float(100 * options.load_tolerance("disk"))
    return [
        f"brokers differ, in % of the fair share: {', '.join(found)}; "
        f"--balance load aims at {100 - share:g}–{100 + share:g} % of each load"
    ]


def _reads_known(cluster: Cluster) -> bool:
    return cluster.bytes_out is not None and not np.isnan(cluster.bytes_out).any()


def _span(model: LoadModel, name: str, after: Cluster) -> str:
    """The lowest and the highest load of a broker, in % of its fair share."""
    bands, k = model.bands_of(name)
    load = model.loads(after)[name in LED]
    shares: list[Fraction] = bands.share(load, k)
    return "–".join(f"{float(100 * end):.3g}" for end in (min(shares), max(shares)))
