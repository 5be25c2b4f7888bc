"""How a group agrees on an assignment: Kafka's coordinators and their members, simulated.

``coordinator`` and ``consumer`` speak the classic protocols, eager and cooperative, in which a
member assigns; ``consumer_group`` and ``consumer_member`` the consumer protocol (KIP-848), in which
the broker does. ``migration`` has groups with members of both.

Neither side reads a clock or opens a socket. Requests and answers are values (``messages``), the
time is an argument, and ``Network`` delivers the messages on a virtual clock. So the history of a
group is a pure function of what happens to its members.
"""

from partage.consumers.protocol.broker_assignor import make_broker_assignor
from partage.consumers.protocol.consumer import Callback, SimulatedConsumer
from partage.consumers.protocol.consumer_group import ConsumerGroupCoordinator
from partage.consumers.protocol.consumer_member import ConsumerProtocolMember
from partage.consumers.protocol.coordinator import Coordinator, State
from partage.consumers.protocol.leader import make_leader
from partage.consumers.protocol.messages import (
    CONSUMER,
    COOPERATIVE,
    EAGER,
    PROTOCOLS,
    Error,
    Partition,
)
from partage.consumers.protocol.migration import MigratingCoordinator
from partage.consumers.protocol.mixed_group import MixedGroupCoordinator
from partage.consumers.protocol.network import Network

__all__ = [
    "CONSUMER",
    "COOPERATIVE",
    "EAGER",
    "PROTOCOLS",
    "Callback",
    "ConsumerGroupCoordinator",
    "ConsumerProtocolMember",
    "Coordinator",
    "Error",
    "MigratingCoordinator",
    "MixedGroupCoordinator",
    "Network",
    "Partition",
    "SimulatedConsumer",
    "State",
    "make_broker_assignor",
    "make_leader",
]
