"""The kinds of faults that hit a plan while it is applied, in the order of the seeds.

Each takes a trial, injects its fault, and then finishes the plan or rolls it back. The first five
run in ``make test``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.faults.executor import Executor
from tests.faults.trial import Trial


def break_busy_broker(trial: Trial, executor: Executor, how: str) -> tuple[int, float]:
    """Take a broker down that receives or keeps a moving replica; returns which one, and when."""
    trial.moving(executor)
    broker = trial.busy_broker()
    return broker, trial.broker_down(broker, how)


def executor_killed(trial: Trial) -> None:
    """kill -9 at several steps; each time the same command resumes."""
    for _ in range(trial.some(2, 4)):
        trial.kill(trial.begin())
    trial.finish()


def broker_killed(trial: Trial) -> None:
    """A broker dies during a copy and is reported; when it is back, the same command resumes."""
    executor = trial.begin(slow=True)
    broker, at = break_busy_broker(trial, executor, "killed")
    trial.await_report(executor, broker, at)
    trial.broker_up(broker, "killed", at)
    trial.end(executor)
    trial.finish()


def executor_cut_off(trial: Trial) -> None:
    """The executor cannot reach one of the brokers, other clients can."""
    executor = trial.begin()
    how = "cut off from the executor"
    broker, at = break_busy_broker(trial, executor, how)
    time.sleep(trial.some(3, 20))
    trial.broker_up(broker, how, at)
    trial.end(executor)
    trial.finish()


def rolled_back_after_a_kill(trial: Trial) -> None:
    """kill -9, then a rollback, perhaps killed as well, perhaps with another apply in between."""
    trial.kill(trial.begin())
    if trial.rng.random() < 0.5:
        trial.kill(trial.begin("rollback"))
    if trial.rng.random() < 0.3:
        trial.kill(trial.begin("apply"))
    trial.finish("rollback")


def throttles_and_topic_removed(trial: Trial) -> None:
    """Other tools remove the throttles and delete a topic."""
    executor = trial.begin()
    trial.moving(executor)
    trial.remove_throttles()
    time.sleep(trial.rng.random())
    trial.delete_topic()
    if trial.rng.random() < 0.5:
        trial.kill(executor)
    trial.end(executor)
    trial.finish()


def interrupted(trial: Trial) -> None:
    """Ctrl-C once or twice, perhaps kill -9 while it stops, then apply or rollback."""
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
    """A broker's process is stopped with its connections open, and continued later."""
    executor = trial.begin(slow=True)
    broker, at = break_busy_broker(trial, executor, "stopped")
    if trial.rng.random() < 0.7:
        trial.await_report(executor, broker, at)
    else:
        time.sleep(trial.rng.uniform(2.0, 8.0))
    trial.broker_up(broker, "stopped", at)
    trial.end(executor)
    trial.finish()


def broker_cut_off(trial: Trial) -> None:
    """Neither clients nor followers reach a broker; it reaches the others."""
    executor = trial.begin()
    broker, at = break_busy_broker(trial, executor, "cut off")
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
    restart = trial.controller_down()
    if trial.rng.random() < 0.5:
        trial.end(executor)
    restart()
    trial.end(executor)
    trial.finish()


def broker_and_executor_killed(trial: Trial) -> None:
    """Both die; the command resumes or rolls back, while the broker is down or when it is back."""
    executor = trial.begin(slow=True)
    broker, at = break_busy_broker(trial, executor, "killed")
    time.sleep(trial.rng.uniform(0.0, 8.0))
    trial.kill_now(executor)
    command = trial.rng.choice(["apply", "rollback"])
    if trial.rng.random() < 0.5:
        trial.end(trial.begin(command))
    trial.broker_up(broker, "killed", at)
    trial.finish(command)


def partitions_added(trial: Trial) -> None:
    """A topic gains partitions, the throttles are removed, the executor is killed."""
    executor = trial.begin()
    executor.reach_step(trial.rng.randint(1, 6))
    trial.add_partitions()
    if trial.moving(executor):
        trial.remove_throttles()
    trial.kill(executor)
    trial.finish()


def broker_dies_and_wait_or_stop(trial: Trial) -> None:
    """The executor waits for a broker that died, or cancels all."""
    choice = trial.rng.choice(["wait", "stop"])
    executor = trial.begin("apply", "--on-broker-failure", choice)
    broker, at = break_busy_broker(trial, executor, "killed")
    trial.await_report(executor, broker, at)
    trial.broker_up(broker, "killed", at)
    trial.end(executor)
    trial.finish()


def moved_by_another_tool(trial: Trial) -> None:
    """kill -9, then another tool moves a partition: the command is refused and leaves no throttle.
    When the partition is back, the command resumes."""
    executor = trial.begin()
    trial.moving(executor)
    trial.kill_now(executor)
    key, before, elsewhere = trial.another_place()
    trial.reassign(key, elsewhere)
    refused = trial.begin()
    trial.end(refused)
    assert not refused.outcome, "the command is not refused"
    trial.judge_settings()
    trial.reassign(key, before)
    trial.finish()


KINDS: tuple[Callable[[Trial], None], ...] = (
    executor_killed,
    broker_killed,
    executor_cut_off,
    rolled_back_after_a_kill,
    throttles_and_topic_removed,
    interrupted,
    broker_hangs,
    broker_cut_off,
    controller_changes,
    broker_and_executor_killed,
    partitions_added,
    broker_dies_and_wait_or_stop,
    moved_by_another_tool,
)


def of_seed(seed: int) -> Callable[[Trial], None]:
    """The kind of a seed, in turn."""
    return KINDS[seed % len(KINDS)]
