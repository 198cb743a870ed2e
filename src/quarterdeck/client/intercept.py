"""An `Api` that lets a test replace one call and passes the rest through.

async def lose_the_reply(call: Call) -> bytes:
    await call.proceed()
    raise ConnectionFailed("the reply was lost")

api = InterceptingApi(client.raw, [Intercept("patch", lose_the_reply, times=1)])
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from quarterdeck.client.interfaces import Api, ApiResource, Form, ListPage, Observer, PatchType
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
)


class Call:
    """One call on its way to the server."""

    def __init__(
        self, verb: str, path: ResourcePath, proceed: Callable[[], Awaitable[Any]]
    ) -> None:
        self.verb = verb
        self.path = path
        self.proceed = proceed
        """Carry the call out and return its answer."""


class Intercept:
    """Replaces calls of one verb, all or the first `times`, optionally of one resource."""

    def __init__(
        self,
        verb: str,
        replace: Callable[[Call], Awaitable[Any]],
        *,
        resource: str = "",
        times: int | None = None,
    ) -> None:
        self.verb = verb
        self.resource = resource
        self.replace = replace
        self.left = times
        self.seen = 0

    def matches(self, verb: str, path: ResourcePath) -> bool:
        """Whether the next such call is replaced; counts it."""
        if verb != self.verb or (self.resource and path.resource != self.resource):
            return False
        if self.left == 0:
            return False
        if self.left is not None:
            self.left -= 1
        self.seen += 1
        return True


class InterceptingApi:
    """Implements `interfaces.Api` around another one."""

    def __init__(self, inner: Api, intercepts: Sequence[Intercept]) -> None:
        self._inner = inner
        self._intercepts = list(intercepts)

    def observe(self, observer: Observer, /) -> None:
        """Observe the calls that reach the server."""
        self._inner.observe(observer)

    async def discover_resource(self, gvk: GVK, /, *, fresh: bool = False) -> ApiResource:
        """Discovery is never intercepted."""
        return await self._inner.discover_resource(gvk, fresh=fresh)

    async def get(self, path: ResourcePath, options: GetOptions = GetOptions(), /) -> bytes:
        """One object."""
        answer: bytes = await self._call("get", path, lambda: self._inner.get(path, options))
        return answer

    async def list(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> ListPage:
        """One page."""
        page: ListPage = await self._call(
            "list", path, lambda: self._inner.list(path, options, form=form)
        )
        return page

    @asynccontextmanager
    async def _watch(
        self, path: ResourcePath, options: ListOptions, form: Form
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._inner.watch(path, options, form=form) as lines:
            passed = await self._call("watch", path, lambda: _iterate_lines(lines))
            yield passed

    def watch(
        self, path: ResourcePath, options: ListOptions, /, *, form: Form = Form.FULL
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A stream of frames; the replacement returns the lines to deliver, or raises."""
        return self._watch(path, options, form)

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = CreateOptions(), /
    ) -> bytes:
        """POST."""
        answer: bytes = await self._call(
            "create", path, lambda: self._inner.create(path, body, options)
        )
        return answer

    async def update(
        self, path: ResourcePath, body: bytes, options: UpdateOptions = UpdateOptions(), /
    ) -> bytes:
        """PUT."""
        answer: bytes = await self._call(
            "update", path, lambda: self._inner.update(path, body, options)
        )
        return answer

    async def patch(
        self,
        path: ResourcePath,
        body: bytes,
        kind: PatchType,
        options: PatchOptions = PatchOptions(),
        /,
    ) -> bytes:
        """PATCH."""
        answer: bytes = await self._call(
            "patch", path, lambda: self._inner.patch(path, body, kind, options)
        )
        return answer

    async def delete(
        self, path: ResourcePath, options: DeleteOptions = DeleteOptions(), /
    ) -> bytes:
        """DELETE."""
        answer: bytes = await self._call("delete", path, lambda: self._inner.delete(path, options))
        return answer

    async def delete_collection(
        self,
        path: ResourcePath,
        selection: ListOptions = ListOptions(),
        options: DeleteOptions = DeleteOptions(),
        /,
    ) -> bytes:
        """DELETE many."""
        answer: bytes = await self._call(
            "deletecollection",
            path,
            lambda: self._inner.delete_collection(path, selection, options),
        )
        return answer

    async def _call(
        self, verb: str, path: ResourcePath, proceed: Callable[[], Awaitable[Any]]
    ) -> Any:
        for intercept in self._intercepts:
            if intercept.matches(verb, path):
                return await intercept.replace(Call(verb, path, proceed))
        return await proceed()


async def _iterate_lines(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    return lines
