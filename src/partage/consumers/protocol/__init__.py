"""How a group agrees on an assignment: Kafka's classic coordinator and its members, on a virtual
clock.

Neither side reads a clock or opens a socket: requests and answers go in and out as values
(``messages``), the time comes as an argument, and ``Network`` carries them. So a history of a group
is a pure function of what happens to its members.
"""

from partage.consumers.protocol.consumer import Callback, SimulatedConsumer
from partage.consumers.protocol.coordinator import Coordinator, State
from partage.consumers.protocol.leader import make_leader
from partage.consumers.protocol.messages import COOPERATIVE, EAGER, PROTOCOLS, Error, Partition
from partage.consumers.protocol.network import Network

__all__ = [
    "COOPERATIVE",
    "EAGER",
    "PROTOCOLS",
    "Callback",
    "Coordinator",
    "Error",
    "Network",
    "Partition",
    "SimulatedConsumer",
    "State",
    "make_leader",
]
