"""How a group agrees on an assignment: Kafka's classic coordinator and its members, simulated.

Neither side reads a clock or opens a socket. Requests and answers are values (``messages``), the
time is an argument, and ``Network`` delivers the messages on a virtual clock. So the history of a
group is a pure function of what happens to its members.
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
