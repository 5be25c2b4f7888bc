"""The kinds of faults: what happens to a plan on its way, in the order of the seeds.

Each takes a trial, does its harm, and gets the plan, or what was before it, in the end. The first
five are those of ``make test``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.faults.executor import Executor
from tests.faults.trial import Trial


def strike(trial: Trial, executor: Executor, how: str) -> tuple[int, float]:
    """Take a broker down that has something of what is on its way; which one, and when."""
    trial.moving(executor)
    broker = trial.busy_broker()
    return broker, trial.broker_down(broker, how)


def executor_killed(trial: Trial) -> None:
    """kill -9 at several steps; each time the same command goes on."""
    for _ in range(trial.some(2, 4)):
        trial.kill(trial.begin())
    trial.finish()


def broker_killed(trial: Trial) -> None:
    """A broker dies while bytes flow and is named; when it is back, the same command goes on."""
    executor = trial.begin(slow=True)
    broker, at = strike(trial, executor, "killed")
    trial.named(executor, broker, at)
    trial.broker_up(broker, "killed", at)
    trial.end(executor)
    trial.finish()


def executor_cut_off(trial: Trial) -> None:
    """The executor cannot reach one of the brokers, which others can."""
    executor = trial.begin()
    how = "cut off from the executor"
    broker, at = strike(trial, executor, how)
    time.sleep(trial.some(3, 20))
    trial.broker_up(broker, how, at)
    trial.end(executor)
    trial.finish()


def undone_after_a_kill(trial: Trial) -> None:
    """kill -9, then a rollback, killed as well; perhaps forth again after all."""
    trial.kill(trial.begin())
    if trial.rng.random() < 0.5:
        trial.kill(trial.begin("rollback"))
    if trial.rng.random() < 0.3:
        trial.kill(trial.begin("apply"))
    trial.finish("rollback")


def meddled_with(trial: Trial) -> None:
    """Others take the throttles off and delete a topic."""
    executor = trial.begin()
    trial.moving(executor)
    trial.strip()
    time.sleep(trial.rng.random())
    trial.delete_topic()
    if trial.rng.random() < 0.5:
        trial.kill(executor)
    trial.end(executor)
    trial.finish()


def interrupted(trial: Trial) -> None:
    """Ctrl-C once or twice, perhaps kill -9 while it is stopping, then on or back."""
    executor = trial.begin()
    if executor.reach_step(trial.rng.randint(1, 8)):
        time.sleep(trial.rng.random())
        for _ in range(trial.rng.randint(1, 2)):
            trial.interrupt(executor)
            time.sleep(trial.rng.random())
        if trial.rng.random() < 0.3:
            trial.kill_now(executor)
    trial.end(executor)
    trial.finish(trial.rng.choice(["apply", "rollback"]))


def broker_hangs(trial: Trial) -> None:
    """A broker's process stands still, its connections stay open; then it goes on."""
    executor = trial.begin(slow=True)
    broker, at = strike(trial, executor, "stopped")
    if trial.rng.random() < 0.7:
        trial.named(executor, broker, at)
    else:
        time.sleep(trial.rng.uniform(2.0, 8.0))
    trial.broker_up(broker, "stopped", at)
    trial.end(executor)
    trial.finish()


def broker_cut_off(trial: Trial) -> None:
    """Nobody reaches a broker any more, neither clients nor followers; it reaches the others."""
    executor = trial.begin()
    broker, at = strike(trial, executor, "cut off")
    time.sleep(trial.some(3, 15))
    trial.broker_up(broker, "cut off", at)
    trial.end(executor)
    trial.finish()


def controller_changes(trial: Trial) -> None:
    """The active controller dies, another takes over."""
    executor = trial.begin()
    if trial.rng.random() < 0.5:
        trial.moving(executor)
    else:
        executor.reach_step(trial.rng.randint(1, 6))
    bring_back = trial.controller_down()
    if trial.rng.random() < 0.5:
        trial.end(executor)
    bring_back()
    trial.end(executor)
    trial.finish()


def broker_and_executor_killed(trial: Trial) -> None:
    """Both die; the command goes on, or goes back, while the broker is away or when it is back."""
    executor = trial.begin(slow=True)
    broker, at = strike(trial, executor, "killed")
    time.sleep(trial.rng.uniform(0.0, 8.0))
    trial.kill_now(executor)
    command = trial.rng.choice(["apply", "rollback"])
    if trial.rng.random() < 0.5:
        trial.end(trial.begin(command))
    trial.broker_up(broker, "killed", at)
    trial.finish(command)


def partitions_added(trial: Trial) -> None:
    """A topic grows, the throttles are taken off, the executor is killed."""
    executor = trial.begin()
    executor.reach_step(trial.rng.randint(1, 6))
    trial.add_partitions()
    if trial.moving(executor):
        trial.strip()
    trial.kill(executor)
    trial.finish()


def broker_dead_and_waited_for(trial: Trial) -> None:
    """The executor waits for a broker that died, or cancels all."""
    choice = trial.rng.choice(["wait", "stop"])
    executor = trial.begin("apply", "--on-broker-failure", choice)
    broker, at = strike(trial, executor, "killed")
    trial.named(executor, broker, at)
    trial.broker_up(broker, "killed", at)
    trial.end(executor)
    trial.finish()


def moved_by_others(trial: Trial) -> None:
    """kill -9, and others move a partition elsewhere: the same command is refused, and leaves no
    throttle behind. When it is where it was, the command goes on."""
    executor = trial.begin()
    trial.moving(executor)
    trial.kill_now(executor)
    key, before, elsewhere = trial.another_place()
    trial.reassign(key, elsewhere)
    refused = trial.begin()
    trial.end(refused)
    assert not refused.outcome, "it is not refused"
    trial.judge_settings()
    trial.reassign(key, before)
    trial.finish()


KINDS: tuple[Callable[[Trial], None], ...] = (
    executor_killed,
    broker_killed,
    executor_cut_off,
    undone_after_a_kill,
    meddled_with,
    interrupted,
    broker_hangs,
    broker_cut_off,
    controller_changes,
    broker_and_executor_killed,
    partitions_added,
    broker_dead_and_waited_for,
    moved_by_others,
)


def of_seed(seed: int) -> Callable[[Trial], None]:
    """Seeds take turns."""
    return KINDS[seed % len(KINDS)]
