"""``balance="load"``: every load of a broker within a band around its fair share.

``model`` counts the loads and sets the bands, ``placement`` runs the search for replica sets and
leaders, ``limits`` finds what forbids a band, ``proofs`` states the bounds, and ``figures`` sums up
each resource. ``survivors`` orders followers for less load after a failure. ``hint`` reports where
other plans leave loads far from their bands.
"""

from partage.brokers.load.figures import resource_figures
from partage.brokers.load.hint import load_hint
from partage.brokers.load.limits import unattainable_bands
from partage.brokers.load.model import LoadModel
from partage.brokers.load.placement import place_by_load
from partage.brokers.load.proofs import prove_loads
from partage.brokers.load.survivors import relieve_survivors

__all__ = [
    "LoadModel",
    "load_hint",
    "place_by_load",
    "prove_loads",
    "relieve_survivors",
    "resource_figures",
    "unattainable_bands",
]
