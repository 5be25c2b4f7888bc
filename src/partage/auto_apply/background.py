"""Does what an applier does in a thread, one thing at a time, so that the watch goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from partage.pipeline.watch import Applier, Judgement


class Background:
    """An applier around another one. A judgement that comes while it is busy is not passed on.
    ``stop``: set at the end, for the other one to stop soon."""

    def __init__(self, applier: Applier, stop: threading.Event) -> None:
        self._applier, self._stop = applier, stop
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def begin(self) -> None:
        """Start finishing what an earlier run left."""
        self._start(self._applier.begin)

    def judged(self, judgement: Judgement) -> None:
        """Start acting on a judgement, unless it is busy. Raises what went wrong before."""
        if self._thread is None or not self._thread.is_alive():
            self._raise_failure()
            self._start(lambda: self._applier.judged(judgement))

    def end(self) -> None:
        """Wait until nothing is being done. Raises what went wrong."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._applier.end()
        self._raise_failure()

    def _start(self, act: Callable[[], None]) -> None:
        def run() -> None:
            try:
                act()
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=run, name="partage apply")
        self._thread.start()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
