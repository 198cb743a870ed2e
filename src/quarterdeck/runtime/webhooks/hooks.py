"""From a question to an answer: one hook for each kind and purpose.

Handlers are plain functions or coroutines; they are called with a `Review` and never see JSON.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from quarterdeck.apis.admission import AdmissionRequest
from quarterdeck.kit import json
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import DecodeError, Object, decode, to_builtins
from quarterdeck.meta.overlay import overlay
from quarterdeck.runtime.webhooks import answers
from quarterdeck.runtime.webhooks.answers import Answer
from quarterdeck.runtime.webhooks.review import Denied, Operation, Review
from quarterdeck.wire import json_patch
from quarterdeck.wire.status import ApiError

T = TypeVar("T", bound=Object)

Check = Callable[[Review[T]], Awaitable[None] | None]
"""Returns if a write may pass; raises `Denied` or an API error if not."""
Change = Callable[[Review[T]], Awaitable[T] | T]
"""Returns the object as it shall be stored."""


class Hook(Protocol):
    """Answers the questions of one path."""

    async def answer(self, request: AdmissionRequest) -> Answer:
        """Answer; an exception means that the hook itself is broken."""
        ...


def path_for(purpose: str, kind: KindInfo) -> str:
    """Where controller-runtime serves a hook: `/validate-apps-v1-deployment`."""
    group = kind.group.replace(".", "-")
    return f"/{purpose}-{group}-{kind.version}-{kind.kind.lower()}"


class Validation(Generic[T]):
    """Lets writes of one kind pass, or not."""

    def __init__(self, kind: type[T], check: Check[T]) -> None:
        self._kind = kind
        self._check = check

    async def answer(self, request: AdmissionRequest) -> Answer:
        """Ask the handler."""
        if request.operation == Operation.CONNECT:
            return answers.allowed(request.uid)
        try:
            review = _review(request, self._kind)
        except (DecodeError, ValueError) as error:
            return answers.failed(request.uid, 400, str(error))
        try:
            if (pending := self._check(review)) is not None:
                await pending
        except (Denied, ApiError) as error:
            return _no(review, error)
        return answers.allowed(request.uid, warnings=review.warnings)


class Mutation(Generic[T]):
    """Changes objects of one kind before they are stored.

    What the type does not know stays as it is: only what the handler changed goes into the patch.
    """

    def __init__(self, kind: type[T], change: Change[T]) -> None:
        self._kind = kind
        self._change = change

    async def answer(self, request: AdmissionRequest) -> Answer:
        """Ask the handler, and tell the difference."""
        if request.operation in (Operation.DELETE, Operation.CONNECT):
            return answers.allowed(request.uid)
        try:
            review = _review(request, self._kind)
        except (DecodeError, ValueError) as error:
            return answers.failed(request.uid, 400, str(error))
        try:
            changed = self._change(review)
            if isinstance(changed, Awaitable):
                changed = await changed
        except (Denied, ApiError) as error:
            return _no(review, error)
        if not isinstance(changed, self._kind):
            raise TypeError(
                f"the handler returned {type(changed).__name__}, not {self._kind.__name__}"
            )
        patch = [] if changed is review.object else _difference(review, changed)
        return answers.allowed(request.uid, warnings=review.warnings, patch=patch)


def _review(request: AdmissionRequest, kind: type[T]) -> Review[T]:
    """Decode what an operation has: a deleted object comes as the old one.

    Raises:
        DecodeError: if an object does not fit the kind.
        ValueError: if the operation is none.
    """
    try:
        operation = Operation(request.operation)
    except ValueError as error:
        raise ValueError(f'unknown operation "{request.operation}"') from error
    if operation is Operation.DELETE:
        return Review(request, operation, _decoded(kind, request.old_object, "oldObject"), None)
    old = None
    if operation is Operation.UPDATE:
        old = _decoded(kind, request.old_object, "oldObject")
    return Review(request, operation, _decoded(kind, request.object, "object"), old)


def _decoded(kind: type[T], data: msgspec.Raw, field: str) -> T:
    raw = bytes(data)
    if raw in (b"", b"null"):
        raise DecodeError(f"request.{field}: Required value")
    try:
        return decode(kind, raw)
    except DecodeError as error:
        raise DecodeError(f"request.{field}: {error}") from error


def _no(review: Review[Any], error: Denied | ApiError) -> Answer:
    uid, warnings = review.request.uid, review.warnings
    if isinstance(error, ApiError):
        return answers.refused(uid, error, warnings=warnings)
    return answers.denied(uid, str(error), warnings=warnings)


def _difference(review: Review[T], changed: T) -> list[json_patch.Operation]:
    original = json.decode(bytes(review.request.object))
    before, after = to_builtins(review.object), to_builtins(changed)
    return json_patch.create(original, overlay(original, before=before, after=after))
