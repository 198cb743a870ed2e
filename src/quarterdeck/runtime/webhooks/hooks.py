"""From a request to a response: one hook for each kind and purpose.

Handlers are plain functions or coroutines; they are called with a `Review` and never see JSON.
"""

import abc
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Generic, TypeVar

import msgspec

from quarterdeck.apis.admission import AdmissionRequest
from quarterdeck.kit import json
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import is_absent
from quarterdeck.meta.objects import DecodeError, Object, decode, to_builtins
from quarterdeck.meta.overlay import apply_overlay
from quarterdeck.runtime.webhooks import responses
from quarterdeck.runtime.webhooks.responses import ResponseBody
from quarterdeck.runtime.webhooks.review import Denied, Operation, Review
from quarterdeck.wire import json_patch
from quarterdeck.wire.status import ApiError

T = TypeVar("T", bound=Object)

Validator = Callable[[Review[T]], Awaitable[None] | None]
"""Returns to allow a write; raises `Denied` or an API error to deny it."""
Mutator = Callable[[Review[T]], Awaitable[T] | T]
"""Returns the object to store."""
Patch = Sequence[json_patch.Operation]
DEFAULT_OPERATIONS = (Operation.CREATE.value, Operation.UPDATE.value)


def build_path(purpose: str, kind: KindInfo) -> str:
    """Build the path at which controller-runtime serves a hook: `/validate-apps-v1-deployment`."""
    group = kind.group.replace(".", "-")
    return f"/{purpose}-{group}-{kind.version}-{kind.kind.lower()}"


class Hook(abc.ABC, Generic[T]):
    """Answers the admission requests of one kind."""

    unhandled_operations: ClassVar[frozenset[str]]
    """Operations that are allowed without a call of the handler."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self.operations: tuple[str, ...] = DEFAULT_OPERATIONS
        """What it is registered for."""
        self.leaves_malformed = False
        """Whether an object that does not fit the type is allowed unchanged."""

    @property
    def info(self) -> KindInfo:
        """The kind it is about."""
        return self._kind.KIND

    async def handle(self, request: AdmissionRequest) -> ResponseBody:
        """Call the handler; an exception is a bug of the handler."""
        if request.operation in self.unhandled_operations:
            return responses.allow(request.uid)
        try:
            review = _decode_review(request, self._kind)
        except ValueError as error:
            if self.leaves_malformed and isinstance(error, DecodeError):
                return responses.allow(request.uid)
            return responses.fail(request.uid, 400, str(error))
        try:
            patch = await self._decide(review)
        except ApiError as error:
            return responses.deny_with_status(request.uid, error, warnings=review.warnings)
        except Denied as error:
            return responses.deny(request.uid, str(error), warnings=review.warnings)
        return responses.allow(request.uid, warnings=review.warnings, patch=patch)

    @abc.abstractmethod
    async def _decide(self, review: Review[T]) -> Patch:
        """The changes of the object; raises to deny the write."""


class Validation(Hook[T]):
    """Allows or denies writes of one kind."""

    unhandled_operations = frozenset({Operation.CONNECT})

    def __init__(self, kind: type[T], check: Validator[T]) -> None:
        super().__init__(kind)
        self._check = check

    async def _decide(self, review: Review[T]) -> Patch:
        if (pending := self._check(review)) is not None:
            await pending
        return ()


class Mutation(Hook[T]):
    """Changes objects of one kind before they are stored.

    What the type does not know stays as it is: only what the handler changed goes into the patch.
    """

    unhandled_operations = frozenset({Operation.CONNECT, Operation.DELETE})

    def __init__(self, kind: type[T], change: Mutator[T]) -> None:
        super().__init__(kind)
        self._change = change

    async def _decide(self, review: Review[T]) -> Patch:
        changed = self._change(review)
        if isinstance(changed, Awaitable):
            changed = await changed
        if not isinstance(changed, self._kind):
            raise TypeError(
                f"the handler returned {type(changed).__name__}, not {self._kind.__name__}"
            )
        return () if changed is review.object else _diff(review, changed)


def _decode_review(request: AdmissionRequest, kind: type[T]) -> Review[T]:
    """Decode the objects of an operation: a deleted object is the old one.

    Raises:
        DecodeError: if an object does not fit the kind.
        ValueError: if the operation is unknown.
    """
    try:
        operation = Operation(request.operation)
    except ValueError as error:
        raise ValueError(f'unknown operation "{request.operation}"') from error
    if operation is Operation.DELETE:
        return Review(request, operation, _decode(kind, request.old_object, "oldObject"), None)
    old = None
    if operation is Operation.UPDATE:
        old = _decode(kind, request.old_object, "oldObject")
    return Review(request, operation, _decode(kind, request.object, "object"), old)


def _decode(kind: type[T], data: msgspec.Raw, field: str) -> T:
    if is_absent(data):
        raise DecodeError(f"request.{field}: Required value")
    try:
        return decode(kind, bytes(data))
    except DecodeError as error:
        raise DecodeError(f"request.{field}: {error}") from error


def _diff(review: Review[T], changed: T) -> Patch:
    original = json.decode(bytes(review.request.object))
    before, after = to_builtins(review.object), to_builtins(changed)
    return json_patch.create(original, apply_overlay(original, before=before, after=after))
