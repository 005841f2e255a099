"""The three services of OTLP/gRPC. Knows calls, turns and times; what a call does, it leaves to threads."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any, Final, NoReturn

import grpc

import logs
from errors import BodyTimedOut, Overloaded, StorageUnavailable, WeirError
from metrics.meters import Meters
from otlp_grpc.answers import Failure, failure_of
from otlp_grpc.call import REQUEST_ID, Call, call_of
from otlp_grpc.receiver import Receiver, require_message
from web.ingestion.otlp import EXPORTS

logger = logging.getLogger(__name__)

# Longest silence of a sender that has its turn.
READ_SECONDS: Final = 30
# Longest wait of a call for its turn. Exporters wait ten seconds for an answer.
TURN_SECONDS: Final = 5
# A call that waits costs memory, too.
MOST_CALLS: Final = 1_000


class ExportService(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Handles the calls of the three methods. `most_read` messages are received at once: gRPC holds each whole."""

    def __init__(self, receiver: Receiver, meters: Meters, most_read: int) -> None:
        self._receiver = receiver
        self._meters = meters
        self._turns = asyncio.Semaphore(most_read)
        self._calls = 0
        # As a method of streams, so that a call is judged before its message is asked for. On the wire it is the same.
        self._methods = {path: grpc.stream_unary_rpc_method_handler(partial(self._serve, path)) for path in EXPORTS}

    def service(self, details: Any) -> Any:
        """The handler of a method; None: it is not ours."""
        return self._methods.get(details.method)

    async def _serve(self, path: str, _: object, context: grpc.aio.ServicerContext) -> bytes:
        call = call_of(path, context)
        logs.request_id.set(call.id)
        self._calls += 1
        try:
            response = await self._export(call, context)
        except WeirError as error:
            await self._refuse(call, context, error)
        except Exception as error:
            logger.error("%s: unforeseen", path, exc_info=error)
            await self._refuse(call, context, StorageUnavailable("an error on our side; nothing was stored"))
        finally:
            self._calls -= 1
        self._meters.answered("POST", path, 200, monotonic() - call.started)
        context.set_trailing_metadata(((REQUEST_ID, call.id),))
        return response

    async def _export(self, call: Call, context: grpc.aio.ServicerContext) -> bytes:
        if self._calls > MOST_CALLS:
            raise Overloaded("too many calls are in progress; nothing was stored", limit=MOST_CALLS)
        admitted = await asyncio.to_thread(self._receiver.admit, call)
        async with self._turn():
            message = await _read(context)
        return await asyncio.to_thread(self._receiver.store, admitted, message, context.cancelled)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Raises Overloaded when none comes in time."""
        try:
            await asyncio.wait_for(self._turns.acquire(), TURN_SECONDS)
        except TimeoutError as error:
            raise Overloaded("too many messages are being received; nothing was stored") from error
        try:
            yield
        finally:
            self._turns.release()

    async def _refuse(self, call: Call, context: grpc.aio.ServicerContext, error: WeirError) -> NoReturn:
        """Raises what ends the call."""
        failure = failure_of(error, call.id)
        self._log(call, failure, error)
        self._meters.answered("POST", call.path, failure.status, monotonic() - call.started)
        self._meters.refused(error.code)
        await context.abort(failure.code, failure.text, failure.metadata)
        raise error  # never: abort raises

    def _log(self, call: Call, failure: Failure, error: WeirError) -> None:
        """Our faults at error with their traceback, the client's at info without."""
        if failure.status >= 500 and not isinstance(error, Overloaded):
            logger.error("%s: %s", call.path, error.message, exc_info=error)
        else:
            sender = call.src_ip or "a local socket"
            logger.info("%s: %s %s, from %s", call.path, failure.code.name, error.code, sender)


async def _read(context: grpc.aio.ServicerContext) -> bytes:
    try:
        return require_message(await asyncio.wait_for(context.read(), READ_SECONDS))
    except TimeoutError as error:
        raise BodyTimedOut(f"the message did not arrive within {READ_SECONDS} seconds") from error
