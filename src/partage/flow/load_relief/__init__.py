"""Bring loads of slots below limits for the fewest bytes moved, and change little else.

``state`` is the problem and an assignment; ``changes`` finds the changes of an item that pay at
given prices; ``program`` chooses among them; ``search`` repeats both; ``bounds`` turns prices into
a proven lower bound on the cost of every assignment within the limits.
"""

from partage.flow.load_relief.bounds import least_cost
from partage.flow.load_relief.search import limit_prices, relieve_loads
from partage.flow.load_relief.state import ReliefProblem

__all__ = ["ReliefProblem", "least_cost", "limit_prices", "relieve_loads"]
