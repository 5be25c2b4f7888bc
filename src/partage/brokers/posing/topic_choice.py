"""The topics that an option chooses, by a regular expression or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from partage.arrays import Bools
from partage.cluster import Cluster
from partage.errors import InputError, shown
from partage.patterns import compile_pattern, matcher
from partage.units import did_you_mean, listed


def chosen_by(cluster: Cluster, topics: re.Pattern[str] | None) -> Bools:
    """[P] the partitions of topics that match, all without a pattern. Raises InputError if none
    does."""
    if topics is None:
        return np.ones(cluster.partitions, dtype=np.bool_)
    match = np.array(list(map(matcher(topics), cluster.topics)))
    if not match.any():
        raise InputError(f"topics {shown(topics.pattern)}", _no_match(topics, cluster.topics))
    return np.asarray(match[cluster.topic], dtype=np.bool_)


def _no_match(topics: re.Pattern[str], names: Sequence[str]) -> str:
    """Why no topic matches, and what would."""
    problem = "matches no topic of the cluster"
    listing = topics.pattern.replace(",", "|")
    if listing != topics.pattern and any(map(matcher(compile_pattern(listing)), names)):
        return f"{problem}: it is a regular expression; {listing} matches either name"
    parts = list(filter(matcher(compile_pattern(f".*({topics.pattern}).*")), names))
    if parts and topics.pattern:
        alike = parts == list(filter(matcher(compile_pattern(f".*{topics.pattern}.*")), names))
        within = topics.pattern if alike else f"({topics.pattern})"
        found = listed(parts[:3], 3, len(parts))
        return f"{problem}: the whole name must match; .*{within}.* matches {found}"
    return f"{problem}{did_you_mean(topics.pattern, names)}"


def rows_of(cluster: Cluster, chosen: Bools, topic: str, where: str) -> Bools:
    """[P] the chosen partitions of a topic that an option names."""
    if topic not in cluster.topics:
        raise InputError(where, f"topic {topic!r} is not in the cluster")
    rows = chosen & (cluster.topic == cluster.topics.index(topic))
    if not rows.any():
        raise InputError(where, f"topic {topic!r} is left out by `topics`")
    return np.asarray(rows)
