"""Damaged input for every reader: ``python -m tests.fuzz.campaign`` runs a campaign by hand.

A case is a reader and a seed. It damages one file of the reader in a workspace and runs one command
on it; both follow from the seed. A campaign prints the CPU time of each reader's slowest case, too:
a reader that is slow on a small file is at fault.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from tests.fuzz import bounded
from tests.fuzz.readers import READERS, Case, Reader, no_kafka, restore, workspace


class Campaign:
    """Cases in a workspace; see ``opened``.

    ``slowest``: by reader, CPU seconds and the seed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.codes: Counter[int | None] = Counter()
        self.slowest: dict[str, tuple[float, int]] = {}

    def ended(self, reader: Reader, case: Case) -> bounded.Ended:
        """How a case ends with the files as they are; afterwards they are intact."""
        os.chdir(self.folder / reader.folder)
        try:
            return bounded.run(case)
        finally:
            os.chdir(self.folder)
            for top in {target.split("/")[0] for target in reader.targets}:
                restore(self.folder, top)

    def fault(self, reader: Reader, seed: int) -> str | None:
        """What is wrong with how the case ends, None if nothing is."""
        chance = random.Random(f"{reader.name} {seed}")
        target = chance.choice(reader.targets)
        case = chance.choice(reader.cases)
        path = self.folder / target
        path.write_bytes(reader.damage(path.read_bytes(), chance))
        began = time.process_time()
        ended = self.ended(reader, case)
        took = time.process_time() - began, seed
        self.slowest[reader.name] = max(took, self.slowest.get(reader.name, took))
        self.codes[ended.code] += 1
        found = ended.fault()
        return None if found is None else f"{reader.name!r} {seed}: {target}: {found}"


@contextlib.contextmanager
def opened() -> Iterator[Campaign]:
    """A workspace; the process works in it, with a fake Kafka and without variables of partage."""
    here = Path.cwd()
    variables = {name: value for name, value in os.environ.items() if name.startswith("PARTAGE_")}
    with tempfile.TemporaryDirectory() as name, no_kafka():
        folder = Path(name).resolve()
        for variable in variables:
            del os.environ[variable]
        workspace(folder / "intact")
        shutil.copytree(folder / "intact", folder, dirs_exist_ok=True)
        os.chdir(folder)
        try:
            # OpenSSL would read all authorities of the system for each case with TLS
            with patch.dict(os.environ, SSL_CERT_FILE=str(folder / "intact" / "truststore.pem")):
                yield Campaign(folder)
        finally:
            os.chdir(here)
            os.environ.update(variables)


def shares(cases: int) -> dict[str, int]:
    """Cases by reader, at least as many together."""
    total = sum(reader.share for reader in READERS)
    return {reader.name: -(-cases * reader.share // total) for reader in READERS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each reader")
    parser.add_argument("--reader", help="only this one")
    parser.add_argument("--most", type=int, default=10, help="faults of a reader that are shown")
    given = parser.parse_args()
    faults = 0
    print(f"seed {given.seed}", flush=True)
    with opened() as campaign:
        for reader in READERS:
            if given.reader not in (None, reader.name):
                continue
            count = given.cases if given.reader else shares(given.cases)[reader.name]
            seeds = range(given.seed, given.seed + count)
            found = [fault for seed in seeds if (fault := campaign.fault(reader, seed))]
            faults += len(found)
            seconds, slowest = campaign.slowest[reader.name]
            print(
                f"{reader.name}: {count} cases, {len(found)} faults, "
                f"slowest {seconds:.2f} s of CPU time (seed {slowest})",
                flush=True,
            )
            for fault in found[: given.most]:
                print(fault, flush=True)
        print(
            f"{sum(campaign.codes.values())} cases, {faults} faults, codes {dict(campaign.codes)}"
        )
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
