"""Uniform: even loads, as the group coordinator assigns them (KIP-848).

``java`` is the result of Kafka's class of that name (``consumers.java_uniform``), which the broker
runs unless the client asks for another (``group.remote.assignor``). It ignores racks. ``optimal``
is exact: the fairest loads, then the most partitions in the racks of their members, then the fewest
moves (``consumers.exact_assignment``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.exact_assignment import assign_exactly
from partage.consumers.java_uniform import java_uniform
from partage.group import Group


def uniform(group: Group, mode: str) -> npt.NDArray[np.int64]:
    """[P] the member of each partition."""
    return java_uniform(group) if mode == "java" else assign_exactly(group)
