"""A broker, and the limits of what a cluster may hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from partage.frames import changed_fields

UNKNOWN = -1
"""In ``size_bytes`` and ``disk_bytes``: not measured."""

MAX_BYTES = 2**60
"""The largest accepted size, of one replica and of all together: an exbibyte. Anything above is a
typing or unit mistake, and sums stay well below what 64 bits hold."""

MAX_BROKER_ID = 2**31 - 1
MAX_BROKERS = 10_000
"""Of a cluster. What survivors lead after a failure is counted for pairs of brokers: 4 GB of memory
for so many."""
MAX_REPLICAS = 128
"""Of a partition. The leaders after a failure follow from pairs of replicas."""


ANY = "any"
"""Instead of a log dir's path, as in Kafka's reassignment JSON: unknown, or left to the broker."""


@dataclass(frozen=True)
class LogDir:
    """A log dir of a broker.

    - ``disk_bytes``: what its replicas and its free space take together, None if unknown
    - ``cordoned``: it takes no new replicas (KIP-1066)
    - ``offline``: the error for which it cannot be used, or None
    """

    path: str
    disk_bytes: int | None = None
    cordoned: bool = False
    offline: str | None = None

    @property
    def takes_replicas(self) -> bool:
        """Whether new replicas may be put into it."""
        return not self.cordoned and self.offline is None


@dataclass(frozen=True, repr=False)
class Broker:
    """A broker of a cluster.

    - ``rack``: None if the cluster has no racks
    - ``disk_bytes``: the size of its disks, None if unknown
    - ``capacity``: its share of the load, relative to the other brokers; any number is accepted
    - ``network_in``, ``network_out``: bytes per second that it can receive and send, None if
      unknown
    - ``alive``: whether it runs
    - ``log_dirs``: where known, in the order of their paths
    """

    id: int
    rack: str | None = None
    disk_bytes: int | None = None
    capacity: Fraction = Fraction(1)
    alive: bool = True
    network_in: int | None = None
    network_out: int | None = None
    log_dirs: tuple[LogDir, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.capacity, Fraction):  # a number, as in a file
            object.__setattr__(self, "capacity", Fraction(str(self.capacity)))

    def __repr__(self) -> str:
        return changed_fields(self)

    @property
    def offline_log_dir(self) -> str | None:
        """The path of the first log dir that is offline. Until it is back, the broker takes new
        replicas, but moves none between its other log dirs (Kafka's LogManager)."""
        return next((one.path for one in self.log_dirs if one.offline is not None), None)
