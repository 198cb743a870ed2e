"""Fault rules at the embedded server: failures of a server as a client on a socket sees them.

    rules = ServerFaults(answer("patch", 429, retry_after_s=1, times=3), cut_watch(after_lines=2))
    async with Cluster(faults=rules) as cluster:
        ...
        rules.add(lose_reply("create", resource="widgets"))

The rules stand between the sockets and the API server, so everything above them is real:
retries, connection pools, credentials, watches. `faults` has the same at the client's side, without
a socket. The first rule that matches a request decides; `chaos` injects faults at random by a seed.
"""

import random
from collections.abc import Awaitable, Callable

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.testing.faults import build_error
from quarterdeck.testing.faulty_stream import FaultyWriter, break_stream, close_connection
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError

Answer = http.Response | http.StreamResponse
Proceed = Callable[[], Awaitable[Answer]]
Inject = Callable[[Proceed], Awaitable[Answer]]

ANY_VERB = ""
"""Every verb."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class ServerRule:
    """Injects a fault into requests of one verb: all, or the first `times`."""

    def __init__(
        self, verb: str, inject: Inject, *, resource: str = "", times: int | None = None
    ) -> None:
        self.verb = verb
        self.resource = resource
        self.inject = inject
        self.left = times
        self.injected = 0
        """How many requests got the fault so far."""

    def matches(self, verb: str, path: ResourcePath) -> bool:
        """Whether the fault is injected into this request; counts it."""
        if self.left == 0 or (self.verb and verb != self.verb):
            return False
        if self.resource and path.resource != self.resource:
            return False
        if self.left is not None:
            self.left -= 1
        self.injected += 1
        return True


class ServerFaults:
    """The rules in force at one server; change them while it runs."""

    def __init__(self, *rules: ServerRule, agent: str = "") -> None:
        """With `agent`, only requests of clients with this User-Agent get faults."""
        self.rules = list(rules)
        self._agent = agent

    def add(self, rule: ServerRule) -> ServerRule:
        """Add a rule; returns it, to read `injected` later."""
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        """Remove all rules."""
        self.rules.clear()

    def __call__(self, handler: http.Handler) -> http.Handler:
        """Wrap a handler so that these rules apply to its requests."""

        async def handle(request: http.Request) -> Answer:
            path = paths.parse(request.path) if self._applies_to(request) else None
            if path is not None:
                verb = get_verb(request, path)
                for rule in tuple(self.rules):
                    if rule.matches(verb, path):
                        return await rule.inject(lambda: handler(request))
            return await handler(request)

        return handle

    def _applies_to(self, request: http.Request) -> bool:
        return not self._agent or request.headers.get("user-agent") == self._agent


def get_verb(request: http.Request, path: ResourcePath) -> str:
    """Kubernetes' verb of a request."""
    if request.method == "DELETE":
        return "delete" if path.name else "deletecollection"
    if request.method not in ("GET", "HEAD"):
        return _VERBS.get(request.method, request.method.lower())
    try:
        is_watch = path.legacy_watch or bool(ListOptions.parse(request.query).watch)
    except ApiError:
        is_watch = False
    if is_watch:
        return "watch"
    return "get" if path.name else "list"


# --- the rules


def fail(
    verb: str,
    code: int,
    *,
    resource: str = "",
    times: int | None = 1,
    retry_after_s: int | None = None,
) -> ServerRule:
    """The server answers with an error and does not handle the request."""

    async def inject(proceed: Proceed) -> Answer:
        return _build_failure(build_error(code, verb), retry_after_s)

    return ServerRule(verb, inject, resource=resource, times=times)


def delay(
    verb: str,
    seconds: float,
    *,
    resource: str = "",
    times: int | None = None,
    clock: Clock | None = None,
) -> ServerRule:
    """The server waits before it handles the request."""
    waiting = clock if clock is not None else SystemClock()

    async def inject(proceed: Proceed) -> Answer:
        await waiting.sleep(seconds)
        return await proceed()

    return ServerRule(verb, inject, resource=resource, times=times)


def lose_reply(verb: str, *, resource: str = "", times: int | None = 1) -> ServerRule:
    """The server handles the request, but closes the connection before its response."""

    async def inject(proceed: Proceed) -> Answer:
        await proceed()
        close_connection()

    return ServerRule(verb, inject, resource=resource, times=times)


def drop_request(verb: str, *, resource: str = "", times: int | None = 1) -> ServerRule:
    """The server closes the connection before it handles the request."""

    async def inject(proceed: Proceed) -> Answer:
        close_connection()

    return ServerRule(verb, inject, resource=resource, times=times)


def cut_watch(after_lines: int, *, resource: str = "", times: int | None = None) -> ServerRule:
    """Streams break after a number of lines, in the middle of the next one."""

    async def inject(proceed: Proceed) -> Answer:
        return _break_watch(await proceed(), after_lines, FaultyWriter.TEAR)

    return ServerRule("watch", inject, resource=resource, times=times)


def freeze_watch(after_lines: int, *, resource: str = "", times: int | None = 1) -> ServerRule:
    """Streams stay open but deliver nothing more, not even bookmarks, after a number of lines."""

    async def inject(proceed: Proceed) -> Answer:
        return _break_watch(await proceed(), after_lines, FaultyWriter.FREEZE)

    return ServerRule("watch", inject, resource=resource, times=times)


def expire_watch(*, after_lines: int = 0, resource: str = "", times: int | None = 1) -> ServerRule:
    """Streams end with the ERROR event of an expired version after a number of lines."""

    async def inject(proceed: Proceed) -> Answer:
        return _break_watch(await proceed(), after_lines, FaultyWriter.EXPIRE)

    return ServerRule("watch", inject, resource=resource, times=times)


def chaos(seed: int, probability: float) -> ServerRule:
    """Requests fail, lose their reply or are cut, at random with a seed."""
    rng = random.Random(seed)

    async def inject(proceed: Proceed) -> Answer:
        if rng.random() >= probability:
            return await proceed()
        fault, lines = rng.choice(("before", "after", "429", "500")), rng.randrange(4)
        if fault == "before":
            close_connection()
        if fault in ("429", "500"):
            error = build_error(int(fault), ANY_VERB)
            return _build_failure(error, 0 if fault == "429" else None)
        reply = await proceed()
        if isinstance(reply, http.StreamResponse):
            return break_stream(reply, lines, rng.choice((FaultyWriter.TEAR, FaultyWriter.EXPIRE)))
        close_connection()

    return ServerRule(ANY_VERB, inject)


# --- injection


def _break_watch(reply: Answer, after_lines: int, fault: str) -> Answer:
    """Break a watch; other answers stay as they are."""
    if isinstance(reply, http.StreamResponse):
        return break_stream(reply, after_lines, fault)
    return reply


def _build_failure(error: ApiError, retry_after_s: int | None) -> http.Response:
    headers = [("content-type", "application/json")]
    if retry_after_s is not None:
        headers.append(("retry-after", str(retry_after_s)))
    return http.Response(error.code, headers, error.encode())
