"""A wall clock that jumps an hour ahead and back every two seconds, for a process that has this
folder in its PYTHONPATH. The monotonic clock goes on."""

import time

_time, _time_ns = time.time, time.time_ns


def _jump() -> int:
    """Seconds."""
    return 3600 * (int(_time()) // 2 % 2)


time.time = lambda: _time() + _jump()
time.time_ns = lambda: _time_ns() + _jump() * 10**9
