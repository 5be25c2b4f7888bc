"""A fake Kafka cluster, for tests of automation that applies plans.

``FakeCluster`` keeps brokers, partitions, reassignments in progress and throttles in memory and
moves them on a virtual clock: hours of a reassignment pass in milliseconds. Its ``admin`` takes
the place of a connected admin client. Brokers can stop and start at any moment, also in the middle
of a wave.

A test of a plan that must survive the death of a broker:

>>> import tempfile
>>> import partage
>>> from partage.testing import FakeCluster
>>> cluster = FakeCluster({("orders", n): (1, 2) for n in range(6)}, brokers=[1, 2, 3, 4])
>>> plan = partage.plan(partage.snapshot(admin=cluster.admin, sleep=cluster.sleep))
>>> directory = tempfile.mkdtemp() + "/plan"
>>> plan.write(directory)
>>> cluster.at(10, lambda: cluster.stop_broker(4))
>>> outcome = partage.apply(
...     directory,
...     throttle="1MB",
...     on_broker_failure="replan",
...     admin=cluster.admin,
...     clock=cluster.clock,
...     sleep=cluster.sleep,
... )
>>> outcome.state
'done'
>>> sorted({broker for replicas in cluster.replicas.values() for broker in replicas})
[1, 2, 3]
>>> cluster.throttles  # restored, except on the broker that is down
{('broker', '4'): {'leader.replication.throttled.rate': '1000000', \
'follower.replication.throttled.rate': '1000000'}}

It needs kafka-python (the extra ``kafka``), whose types and errors it uses.
"""

from partage.testing.fake_cluster import FakeAdminClient, FakeCluster

__all__ = ["FakeAdminClient", "FakeCluster"]
