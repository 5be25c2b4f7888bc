"""The live demonstration: expand a real cluster while a producer and a consumer group work on it.

- ``expansion.py``: the run, from the first broker to the last record
- ``status.py``: what it does now
- ``figures.py``: its results, as ``live.json`` has them
- ``traffic.py``, ``traffic_client.py``: the producer and the group, each client a process
- ``delivery.py``: records counted on both sides, and pauses
"""
