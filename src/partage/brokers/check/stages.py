"""Which stages a plan has: they follow from its options, whatever its strategy.

The objective is one, so a plan of another strategy is held against the same stages as an exact one.
"""

from __future__ import annotations

from typing import Any

from partage.brokers.check.asked import OF_REPLICAS, RESOURCES, Asked

_FAILURES = ("failure", "failure balance")
_PLACEMENT = {"weights", "load_weights", "brokers"}
_PRICES: dict[str, list[set[str]]] = {
    "replicas": [_PLACEMENT],
    "moves": [_PLACEMENT],
    "topic spread": [_PLACEMENT],
    "bytes": [{"confined", "load_weights"}],
    "bytes moved": [{"brokers", "low", "high"}],
    "load": [{"bands"}],
    "log dirs": [{"log_dirs"}],
    "leaders": [{"brokers"}],
    "leader rate": [{"confined"}],
    "failure": [set(), {"pairs", "brokers", "scale"}, {"cases"}],
    "failure balance": [{"pairs", "brokers"}],
    "zone bytes": [{"pairs", "brokers"}],
    "joint failure balance": [
        set(),
        {"pairs", "brokers"},
        {"pairs", "brokers", "scale"},
        {"cases"},
    ],
}


def stages_of(asked: Asked) -> dict[str, bool]:
    """The stages of a plan with these options in the order in which they count, and whether each is
    exact: solved by a flow, not by a search with a bound."""
    found = dict.fromkeys(placement_stages(asked), not (asked.by_size or asked.by_load))
    if "topic spread" in found:
        # a limit on bytes may cost topic spread; how much is found by a search
        found["topic spread"] = asked.max_bytes is None
    if asked.limited:
        found["budget"] = False
    by_search = asked.leaders_by_search
    if not asked.by_load:
        found["leader rate" if by_search else "leaders"] = not by_search
    found |= dict.fromkeys(_FAILURES, not asked.relieved)
    if not by_search:
        found["joint failure balance"] = False
    if asked.prefer_zone:
        found["zone bytes"] = True
    return found | {"log dirs": False} if asked.moves_log_dirs else found


def is_aimed(asked: Asked, stage: str) -> bool:
    """Whether a plan with these options tries to meet the bound of a stage: where loads are
    relieved, the followers keep their order."""
    return not (asked.relieved and stage in _FAILURES)


def priced_resources(asked: Asked) -> tuple[str, ...]:
    """The resources with prices in ``bytes moved``: where loads are relieved, all of them."""
    return RESOURCES if asked.relieved else OF_REPLICAS


def prices_fit(asked: Asked, stage: dict[str, Any]) -> bool:
    """Whether a stage has exactly the prices that its bound needs."""
    name, keys = stage["stage"], set(stage["prices"])
    if asked.by_load and name in ("bytes moved", "moves"):
        priced = set(stage["prices"].get("resources", ()))
        return keys == {"scale", "resources"} and priced == set(priced_resources(asked))
    if name == "budget":
        within = {"fair", "within"} if asked.tolerance else set()
        loads = set() if stage["prices"].get("limit") == "tolerance" else {"brokers", "move_price"}
        return keys == {"limit", "load_weights"} | within | loads
    if name in ("replicas", "moves", "topic spread"):
        keys -= {"topics", "aim"}  # where topics or a limit set prices of their own
    return keys in _PRICES[name]


def placement_stages(asked: Asked) -> tuple[str, ...]:
    """Those that choose the replica sets, without limits on what moves."""
    if asked.no_moves:
        return ("load",) if asked.by_load else ()
    if asked.relieve is not None:
        return ("bytes moved",)
    if asked.relieved:
        return ("load", "bytes moved")
    if asked.by_load:
        return ("load", "bytes moved", "moves")
    if asked.balance == "bytes":
        return ("bytes", "bytes moved")
    if asked.spread == "topic":
        return ("topic spread", "replicas", "moves")
    return ("replicas", "moves", "topic spread")
