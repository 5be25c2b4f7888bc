"""A plan as plan.json has it; docs/plan-directory.md describes every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partage.brokers import directory
from partage.brokers.option_values import RESOURCES
from partage.brokers.waves import Wave
from partage.flow.packing import pack

if TYPE_CHECKING:
    from partage.brokers.plan import Plan


def contents_of(plan: Plan) -> dict[str, Any]:
    """plan.json as a value, without its fingerprint."""
    return {
        "format_version": directory.FORMAT_VERSION,
        "partage": _version(),
        "strategy": plan.problem.options.strategy,
        "cluster_id": plan.before.cluster_id,
        "topic_ids": _topic_ids(plan),
        **_clients(plan),
        "changes": len(plan.changed) > 0,
        "options": plan.problem.options.given(),
        "brokers": _broker_entries(plan),
        "topics": list(plan.before.topics),
        "partitions": _partition_columns(plan),
        "figures": {
            "before": plan.figures_before,
            # without the seconds: the same input gives the same bytes
            "after": {k: v for k, v in plan.figures.items() if k != "seconds"},
        },
        "binding": list(plan.binding),
        "gaps": plan.gaps,
        "loads": [*plan.problem.loads, *plan.hints],
        "warnings": list(plan.warnings),
        "certificate": {
            "stages": [stage.to_json() for stage in plan.stages],
            **_fair_shares(plan),
        },
        "waves": [_wave_entry(plan, i, wave) for i, wave in enumerate(plan.waves, start=1)],
    }


def _broker_entries(plan: Plan) -> list[dict[str, Any]]:
    excluded, added = plan.problem.excluded, plan.problem.added
    outside = plan.problem.outside
    return [
        broker
        | {"excluded": bool(excluded[i]), "added": bool(added[i])}
        | ({"outside": True} if outside[i] else {})
        for i, broker in enumerate(plan.before.broker_entries())
    ]


def _partition_columns(plan: Plan) -> dict[str, Any]:
    problem, before = plan.problem, plan.before
    rates = problem.bytes_per_second
    target = before.replication_factor if problem.options.no_moves else problem.target
    return {
        "topic": before.topic.tolist(),
        "partition": before.partition.tolist(),
        "size_bytes": [None if s < 0 else s for s in before.size_bytes.tolist()],
        **_copy_column(plan),
        "bytes_per_second": None if rates is None else rates.tolist(),
        **_rate_columns(plan),
        "chosen": problem.chosen.tolist(),
        "replication_factor": target.tolist(),
        "before": before.replica_lists(),
        "after": plan.after.replica_lists(),
        **_log_dir_columns(plan),
    }


def _copy_column(plan: Plan) -> dict[str, list[int | None]]:
    """What new replicas copy, where that is not always the size."""
    if plan.before.copy_bytes is None:
        return {}
    return {"copy_bytes": [None if c < 0 else c for c in plan.before.copy_list()]}


def _log_dir_columns(plan: Plan) -> dict[str, list[list[int]]]:
    """Positions of log dirs, where known."""
    if plan.before.log_dirs is None or plan.after.log_dirs is None:
        return {}
    return {
        "log_dirs_before": plan.before.log_dir_lists(),
        "log_dirs_after": plan.after.log_dir_lists(),
    }


def _topic_ids(plan: Plan) -> list[str | None] | None:
    """The ids of the topics, None where not known; None if none is."""
    known = plan.before.topic_ids
    return [known.get(topic) for topic in plan.before.topics] if known else None


def _clients(plan: Plan) -> dict[str, Any]:
    """In which racks clients are, where known."""
    clients = plan.before.clients
    return {} if clients is None else {"clients": clients.to_json()}


def _fair_shares(plan: Plan) -> dict[str, Any]:
    """By resource, the fair share of each usable broker; a plan that balances loads has them in
    its bands."""
    model = plan.load_model
    if model is None or plan.problem.options.by_load:
        return {}
    return {"fair": {name: pack(model.fair(name)) for name in RESOURCES}}


def _rate_columns(plan: Plan) -> dict[str, list[float]]:
    """The rates by which loads are counted, where known."""
    rates = plan.problem.rates
    if rates is None:
        return {}
    return {
        "bytes_in_per_second": rates.bytes_in.tolist(),
        "bytes_out_per_second": rates.bytes_out.tolist(),
    }


def _wave_entry(plan: Plan, number: int, wave: Wave) -> dict[str, Any]:
    """A wave and its load, broker by broker."""
    return {
        "file": directory.wave_name(number),
        "partitions": len(wave.rows),
        "moves": wave.moves,
        "bytes": wave.bytes,
        "seconds": wave.seconds,
        "brokers": plan.before.broker_ids[wave.brokers].tolist(),
        "replicas_in": wave.replicas_in.tolist(),
        "replicas_out": wave.replicas_out.tolist(),
        "bytes_in": None if wave.bytes_in is None else wave.bytes_in.tolist(),
        "bytes_out": None if wave.bytes_out is None else wave.bytes_out.tolist(),
        **_between_log_dirs(plan, wave),
        **_deleted_in(plan, wave),
    }


def _between_log_dirs(plan: Plan, wave: Wave) -> dict[str, int]:
    """What a wave moves between log dirs, where the plan moves anything there."""
    if not plan.moves_log_dirs:
        return {}
    return {"log_dir_moves": wave.log_dir_moves, "log_dir_bytes": wave.log_dir_bytes}


def _deleted_in(plan: Plan, wave: Wave) -> dict[str, int]:
    """How many replicas a wave deletes, where the plan deletes any."""
    if not plan.replicas_deleted:
        return {}
    return {"replicas_deleted": int(plan.deleted[wave.rows].sum())}


def _version() -> str:
    from partage import __version__

    return __version__
