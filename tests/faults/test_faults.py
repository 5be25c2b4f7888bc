"""Faults injected while a plan is applied: the first five kinds, with little data.

``make test-faults`` runs all kinds, with more; docs/fault-injection.md lists what is asserted.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kafka")
pytest.importorskip("confluent_kafka")

from tests.faults.kinds import KINDS, of_seed
from tests.faults.proxied import Proxied, begin
from tests.faults.trial import Trial

pytestmark = pytest.mark.kafka

INJECTED = {
    0: ["executor killed"],
    1: ["brokers killed", "dead brokers noticed"],
    2: ["brokers cut off from the executor"],
    24: ["executor killed"],
    4: ["throttles removed", "topics deleted"],
}
"""By seed, what must have happened for the trial to count."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    # Ended by SIGTERM, as timeout does, the run still stops the brokers.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with begin(tmp_path_factory.mktemp("faults") / "kafka") as started:
        yield started
    signal.signal(signal.SIGTERM, before)


@pytest.mark.long
@pytest.mark.parametrize("seed", INJECTED, ids=lambda seed: of_seed(seed).__name__)
def test_nothing_is_lost_and_the_plan_is_kept(cluster: Proxied, seed: int, tmp_path: Path) -> None:
    trial = Trial(cluster, seed, tmp_path / "trial", short=True)
    try:
        counts = trial.run(of_seed(seed)).counts
    finally:
        print(*trial.steps, sep="\n")
    assert all(counts[what] for what in INJECTED[seed]), counts
    assert counts["read back"] == counts["records acknowledged"] > 0
    assert counts["settings as before"] > 0
    assert counts["observations"] > 0


def test_every_kind_is_described() -> None:
    page = Path(__file__).parents[2] / "docs" / "fault-injection.md"
    text = page.read_text(encoding="utf-8")
    assert [kind.__name__ for kind in KINDS if f"| `{kind.__name__}` |" not in text] == []
