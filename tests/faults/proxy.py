"""TCP proxies on the loopback, one per broker, that can cut connections.

Every request of Kafka's protocol names the client that sends it (``client.id``, after eight bytes
of key, version and number). The first request of a connection tells so whose it is, and a cut can
be for one client, as of one machine that no longer reaches a broker, or for all but the observer.

A cut connection goes silent, as where packets are lost: what was sent waits, and arrives when the
cut ends, unless its sender has given up by then.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

HOST = "127.0.0.1"
_CHUNK = 1 << 16

Cut = Callable[[str], bool]
"""Whether a client, by its id, is cut off."""


class Proxies:
    """Proxies by broker id: ``ports`` where they listen, ``targets`` where they forward to."""

    def __init__(self) -> None:
        self.ports: dict[int, int] = {}
        self.targets: dict[int, int] = {}
        self._cuts: dict[int, Cut] = {}
        self._servers: list[asyncio.Server] = []
        self._restored = asyncio.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, broker: int) -> None:
        """Begin to listen for a broker; ``targets`` must have it by the first connection."""

        async def listen() -> int:
            server = await asyncio.start_server(
                lambda reader, writer: self._serve(broker, reader, writer), HOST, 0
            )
            self._servers.append(server)
            return int(server.sockets[0].getsockname()[1])

        self.ports[broker] = self._do(listen())

    def cut(self, broker: int, who: Cut = lambda _: True) -> None:
        """Forward nothing between this broker and these clients."""
        self._cuts[broker] = who

    def restore(self, broker: int) -> None:
        """End the cut: forward everything again."""

        async def wake() -> None:
            self._cuts.pop(broker, None)
            async with self._restored:
                self._restored.notify_all()

        self._do(wake())

    def close(self) -> None:
        async def cancel() -> None:
            for server in self._servers:
                server.close()
            await asyncio.sleep(0)  # what was being accepted is a task now
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._do(cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _serve(
        self, broker: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there: asyncio.StreamWriter | None = None
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head, client = await _first(reader)
            await self._passes(broker, client)
            back, there = await asyncio.open_connection(HOST, self.targets[broker])
            there.write(head)
            ways = [
                asyncio.ensure_future(self._pump(broker, client, reader, there)),
                asyncio.ensure_future(self._pump(broker, client, back, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
        for end in (there, writer):
            if end is not None:
                end.close()

    async def _pump(
        self, broker: int, client: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(_CHUNK):
            await self._passes(broker, client)
            writer.write(data)
            await writer.drain()

    async def _passes(self, broker: int, client: str) -> None:
        """Wait until they are not cut off from each other."""
        async with self._restored:
            await self._restored.wait_for(
                lambda: (who := self._cuts.get(broker)) is None or not who(client)
            )


async def _first(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    """The beginning of a connection's first request, and the client's id in it."""
    head = await reader.readexactly(14)  # size, key, version, number, length of the id
    (length,) = struct.unpack(">h", head[12:])
    name = await reader.readexactly(max(length, 0))
    return head + name, name.decode()
