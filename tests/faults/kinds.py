"""The kinds of faults that hit a plan while it is applied, in the order of the seeds.

Each takes a trial, injects its fault, and then finishes the plan or rolls it back. The first five
run in ``make test``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

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


def topic_created_again(trial: Trial) -> None:
    """A topic is deleted and created with the same name; the plan is then rolled back, too."""
    executor = trial.begin()
    trial.moving(executor)
    trial.create_topic_again()
    if trial.rng.random() < 0.5:
        trial.kill(executor)
    trial.end(executor)
    trial.finish()
    trial.judge_created_again()
    trial.finish("rollback")
    trial.judge_created_again()


def two_executors(trial: Trial) -> None:
    """The plan is applied from two directories, as on two machines; one may be killed, and then
    holds its claim until it resumes."""
    copy = trial.copy_of_plan()
    first = trial.begin()
    time.sleep(trial.rng.uniform(0.0, 6.0))
    second = trial.begin(plan=copy)
    if trial.rng.random() < 0.5:
        trial.kill(first)
    trial.end(first)
    trial.end(second)
    refused = [one for one in (first, second) if "another plan is being applied" in one.errors]
    both = first.output and second.output
    # one after the other is no conflict: the second finds the plan done
    assert not both or first.output[-1][0] < second.output[0][0], f"both: {first}, {second}"
    trial.figures.counts["executors refused beside another"] += len(refused)
    trial.finish()


def disk_full(trial: Trial) -> None:
    """The disk of a broker that receives replicas fills: Kafka stops it."""
    executor = trial.begin(slow=True)
    how = "stopped by a full disk"
    broker, at = break_busy_broker(trial, executor, how)
    trial.await_report(executor, broker, at)
    if trial.rng.random() < 0.5:
        trial.kill_now(executor)
    trial.broker_up(broker, how, at)
    trial.end(executor)
    trial.finish(trial.rng.choice(["apply", "rollback"]))


def min_insync_replicas_raised(trial: Trial) -> None:
    """Producers need all three replicas while partitions move; perhaps kill -9."""
    executor = trial.begin()
    trial.moving(executor)
    trial.require_more_in_sync()
    if trial.rng.random() < 0.5:
        trial.kill(executor)
    trial.end(executor)
    trial.finish(trial.rng.choice(["apply", "rollback"]))


def rolling_upgrade(trial: Trial) -> None:
    """Every broker is stopped in order and started again, one after the other."""
    executor = trial.begin(slow=True)
    trial.moving(executor)
    for broker in trial.cluster.ids:
        at = trial.broker_down(broker, "restarted")
        trial.broker_up(broker, "restarted", at)
    trial.end(executor)
    trial.finish()


def controller_changes_at_each_step(trial: Trial) -> None:
    """The active controller dies again and again, a step of the journal later each time."""
    executor = trial.begin()
    for step in range(1, trial.some(4, 8)):
        if not executor.reach_step(step):
            break
        trial.controller_down()()
    trial.end(executor)
    trial.finish()


def clock_jumps(trial: Trial) -> None:
    """The executor's clock jumps an hour, forth and back, all the time; perhaps kill -9."""
    environment = {"PYTHONPATH": str(Path(__file__).parent / "jumping_clock")}
    executor = trial.begin(environment=environment)
    if trial.rng.random() < 0.5:
        trial.kill(executor)
    trial.end(executor)
    trial.finish(environment=environment)


def log_dir_fails(trial: Trial) -> None:
    """A log dir that receives is gone; perhaps kill -9; then apply or rollback."""
    executor = trial.begin(slow=True)
    trial.moving(executor)
    back = trial.log_dir_down()
    time.sleep(trial.rng.uniform(0.0, 12.0))
    if trial.rng.random() < 0.5:
        trial.kill_now(executor)
    back()
    trial.end(executor)
    trial.finish(trial.rng.choice(["apply", "rollback"]))


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
    topic_created_again,
    two_executors,
    disk_full,
    min_insync_replicas_raised,
    rolling_upgrade,
    controller_changes_at_each_step,
    clock_jumps,
    log_dir_fails,
)


def of_seed(seed: int) -> Callable[[Trial], None]:
    """The kind of a seed, in turn."""
    return KINDS[seed % len(KINDS)]
