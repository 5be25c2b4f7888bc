"""How many brokers a cluster needs: the fewest that hold its load within their capacities, also
while any one broker, or one rack, is down.

``requirement`` is what must hold, ``resources`` what brokers have and partitions take, ``bounds``
proves how many brokers are necessary, ``choice`` names the brokers, ``usage`` measures a placement,
and ``search`` finds the number.
"""

from partage.brokers.sizing.requirement import SURVIVE, Requirement
from partage.brokers.sizing.search import ClusterSize, fewest_brokers, size

__all__ = ["SURVIVE", "ClusterSize", "Requirement", "fewest_brokers", "size"]
