"""A small Streams application for tests."""

from __future__ import annotations

from typing import Any

from partage import Member

TOPICS = {"a": 6, "b": 4, "c": 3}
STREAMS = {
    "subtopologies": [{"topics": ["a", "b"], "stateful": True}, {"topics": ["c"]}],
    "standbys": 1,
}


def thread(member: str, process: str, zone: str | None = None, **more: Any) -> Member:
    tags = {} if zone is None else {"zone": zone}
    return Member(member, ["a", "b", "c"], process=process, tags=tags, **more)


THREADS = [
    thread("x1", "x", "1"),
    thread("x2", "x", "1"),
    thread("y1", "y", "1"),
    thread("z1", "z", "2"),
]
