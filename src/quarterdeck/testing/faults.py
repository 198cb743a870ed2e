"""Fault rules: what can go wrong between a client and a server, by rule and by seed.

Each function makes an `Intercept` for `quarterdeck.client.InterceptingApi`; `chaos` makes a set
that strikes at random, the same for the same seed.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.client.intercept import Call, Intercept
from quarterdeck.kit.clock import Clock
from quarterdeck.wire.status import ApiError, Conflict, Expired, from_status

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


def fail(verb: str, code: int, *, resource: str = "", times: int | None = 1) -> Intercept:
    """Calls fail with this status; the server does not receive them."""

    async def replace(call: Call) -> Any:
        raise build_error(code, verb)

    return Intercept(verb, replace, resource=resource, times=times)


def lose_reply(verb: str, *, resource: str = "", times: int | None = 1) -> Intercept:
    """The server handles the call, but its reply is lost."""

    async def replace(call: Call) -> Any:
        await call.proceed()
        raise ConnectionFailed("the reply was lost")

    return Intercept(verb, replace, resource=resource, times=times)


def delay(
    verb: str, seconds: float, clock: Clock, *, resource: str = "", times: int | None = None
) -> Intercept:
    """Calls are delayed by some seconds before they are sent."""

    async def replace(call: Call) -> Any:
        await clock.sleep(seconds)
        return await call.proceed()

    return Intercept(verb, replace, resource=resource, times=times)


def cut_watch(after_lines: int, *, resource: str = "", times: int | None = None) -> Intercept:
    """Streams break after a number of lines."""

    async def replace(call: Call) -> AsyncIterator[bytes]:
        return _cut(await call.proceed(), after_lines)

    return Intercept("watch", replace, resource=resource, times=times)


def freeze_watch(after_lines: int, *, resource: str = "", times: int | None = 1) -> Intercept:
    """Streams stay open but deliver nothing more after a number of lines."""

    async def replace(call: Call) -> AsyncIterator[bytes]:
        return _freeze(await call.proceed(), after_lines)

    return Intercept("watch", replace, resource=resource, times=times)


def lag_watch(seed: int, up_to_s: float, clock: Clock, *, resource: str = "") -> Intercept:
    """Streams deliver each line after a random delay of a seed; the order stays."""
    rng = random.Random(seed)

    async def replace(call: Call) -> AsyncIterator[bytes]:
        return _lag(await call.proceed(), rng, up_to_s, clock)

    return Intercept("watch", replace, resource=resource)


def expire_watch(*, resource: str = "", times: int | None = 1) -> Intercept:
    """Answer a watch with 410: its version was compacted."""
    return fail("watch", 410, resource=resource, times=times)


def chaos(seed: int, probability: float) -> list[Intercept]:
    """Calls of any verb fail, lose their reply or are cut, at random with a seed."""
    rng = random.Random(seed)

    async def inject(call: Call) -> Any:
        if rng.random() >= probability:
            return await call.proceed()
        if call.verb == "watch":
            return _cut(await call.proceed(), rng.randrange(4))
        match rng.choice(("before", "after", "429", "500")):
            case "before":
                raise ConnectionFailed("the connection was refused")
            case "after":
                await call.proceed()
                raise ConnectionFailed("the reply was lost")
            case code:
                raise build_error(int(code), call.verb)

    return [Intercept(verb, inject) for verb in VERBS]


async def _cut(lines: AsyncIterator[bytes], after: int) -> AsyncIterator[bytes]:
    async for line in lines:
        if after <= 0:
            raise ConnectionFailed("the stream was cut")
        after -= 1
        yield line


async def _lag(
    lines: AsyncIterator[bytes], rng: random.Random, up_to_s: float, clock: Clock
) -> AsyncIterator[bytes]:
    async for line in lines:
        await clock.sleep(rng.uniform(0.0, up_to_s))
        yield line


async def _freeze(lines: AsyncIterator[bytes], after: int) -> AsyncIterator[bytes]:
    async for line in lines:
        if after <= 0:
            await asyncio.Event().wait()
        after -= 1
        yield line


def build_error(code: int, verb: str) -> ApiError:
    """The error that the API server answers to a verb with this code."""
    if code == 410:
        return Expired("too old resource version (injected)")
    text = f"injected failure {code}"
    if code == 409 and verb != "create":
        return Conflict(text)
    return from_status({"message": text, "code": code}, code)
