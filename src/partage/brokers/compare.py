"""Every strategy on the same job, measured by the same criteria."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from partage.brokers.plan import Plan, plan_task
from partage.brokers.strategies import STRATEGIES, strategy_named
from partage.brokers.task import Task
from partage.errors import CannotError


def compare(
    task: Task,
    strategies: Iterable[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Plan | str]:
    """A plan per strategy (all when None), or the sentence why it has none."""
    answers: dict[str, Plan | str] = {}
    for name in STRATEGIES if strategies is None else strategies:
        strategy_named(name)
        asked = task.by_strategy(name)

        def tell(step: str, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {step}")

        try:
            answers[name] = plan_task(asked, tell)
        except CannotError as error:
            answers[name] = str(error)
    return answers


def comparison(answers: dict[str, Plan | str]) -> dict[str, Any]:
    """The value that ``compare --json`` prints."""
    return {
        "strategies": {
            name: {"cannot": answer} if isinstance(answer, str) else answer.figures
            for name, answer in answers.items()
        }
    }
