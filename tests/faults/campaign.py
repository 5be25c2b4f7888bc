"""Run many seeds on one cluster and print their figures: ``make test-faults``.

    python tests/faults/campaign.py [--seeds 0-99] [--seed N] [--kafka VERSION] [--short]

Prints one line per seed, and the steps of seeds that fail. Exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.faults.kinds import of_seed
from tests.faults.proxied import begin
from tests.faults.trial import Figures, Trial

SEEDS = 105
"""Five of each kind."""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument(
        "--seeds", default=f"0-{SEEDS - 1}", help="FIRST-LAST (default: %(default)s)"
    )
    asked.add_argument("--seed", type=int, help="only this one, and print its steps")
    asked.add_argument("--kafka", help="Kafka's version (default: that of a sandbox)")
    asked.add_argument("--short", action="store_true", help="with little data, as in make test")
    given = asked.parse_args()
    # ended by SIGTERM, as timeout does, the campaign still stops the brokers
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last) + 1) if given.seed is None else [given.seed]
    figures, failed = Figures(), []
    folder = Path(tempfile.mkdtemp(prefix="partage-faults-"))
    with begin(folder / "kafka", given.kafka) as cluster:
        for seed in seeds:
            began = time.monotonic()
            trial = Trial(cluster, seed, folder / f"seed-{seed}", given.short)
            problem = ""
            try:
                figures.add(trial.run(of_seed(seed)))
                figures.counts["runs"] += 1
            except KeyboardInterrupt:
                failed.append(seed)
                break
            except Exception:
                problem = traceback.format_exc()
                failed.append(seed)
            took = time.monotonic() - began
            state = "FAILED" if problem else "ok"
            print(f"{seed:3d} {of_seed(seed).__name__:28} {took:5.1f} s  {state}", flush=True)
            if problem or given.seed is not None:
                print(*(f"    {line}" for line in trial.steps), problem, sep="\n", flush=True)
            else:
                shutil.rmtree(folder / f"seed-{seed}")
    print_table(figures)
    if failed:
        print(f"failed: {failed}; their plans and journals: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def print_table(figures: Figures) -> None:
    print(f"\n{figures.counts['runs']} runs held")
    for name, count in sorted(figures.counts.items()):
        print(f"  {name:44} {count:10,}")
    for name, seconds in sorted(figures.longest.items()):
        print(f"  {'longest: ' + name:44} {seconds:8.1f} s")


if __name__ == "__main__":
    sys.exit(main())
