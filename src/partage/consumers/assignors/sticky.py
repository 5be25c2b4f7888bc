"""Sticky: as fair as can be, then as little changed as can be (Kafka's StickyAssignor).

``optimal`` is exact (``consumers.exact_assignment``); ``java`` is what Kafka's class decides
(``consumers.java_sticky``), which mostly is as fair, seldom moves as little, and is not always
fair. Cooperative-sticky decides the same; it differs in what members give up and when.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.exact_assignment import assign_exactly
from partage.consumers.java_sticky import java_sticky
from partage.group import Group


def sticky(group: Group, mode: str) -> npt.NDArray[np.int64]:
    """[P] the member of each partition."""
    return java_sticky(group) if mode == "java" else assign_exactly(group)
