"""HTTP connections that do not wait for ever: half a request is given up (slow clients)."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from tellapart.web import limits


class Connection(H11Protocol):
    """A connection of uvicorn that ends where no request has come in time."""

    _given_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._at_work:
            self._stop()
        elif self._given_up is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    @property
    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._given_up = self.loop.call_later(limits.SLOWEST_REQUEST, self._give_up)

    def _stop(self) -> None:
        if self._given_up is not None:
            self._given_up.cancel()
            self._given_up = None

    def _give_up(self) -> None:
        self._given_up = None
        if not self._at_work and not self.transport.is_closing():
            self.transport.close()
