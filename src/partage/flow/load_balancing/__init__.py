"""Bring several loads of every slot into their bands at once, moving little.

``search`` runs ``replicas``, then ``leaders`` over fixed replicas, then ``joint``. ``prices`` finds
dual values, and ``bounds`` turns them into proven lower bounds.
"""

from partage.flow.load_balancing.bands import MILLION, Bands
from partage.flow.load_balancing.bounds import least_cost
from partage.flow.load_balancing.prices import Prices, band_prices
from partage.flow.load_balancing.search import Loads, balance_leaders, balance_loads

__all__ = [
    "MILLION",
    "Bands",
    "Loads",
    "Prices",
    "balance_leaders",
    "balance_loads",
    "band_prices",
    "least_cost",
]
