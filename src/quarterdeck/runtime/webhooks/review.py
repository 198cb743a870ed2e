"""What a handler receives for a write under review, and how it denies the write."""

import enum
from typing import Generic, TypeVar

from quarterdeck.apis.admission import AdmissionRequest
from quarterdeck.apis.authentication import UserInfo
from quarterdeck.meta.objects import Object

T = TypeVar("T", bound=Object)


class Operation(enum.StrEnum):
    """What is to be done with an object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Denied(Exception):
    """Raised by a handler to deny a write; the client that writes receives the message.

    An error of `wire.status` does it too, and keeps its code, reason and causes.
    """


class Review(Generic[T]):
    """One write: the object as it would be stored, and the rest of the request."""

    __slots__ = ("object", "old", "operation", "request", "warnings")

    def __init__(
        self, request: AdmissionRequest, operation: Operation, obj: T, old: T | None
    ) -> None:
        self.request = request
        """The whole AdmissionRequest."""
        self.operation = operation
        self.object: T = obj
        """The new object; on a deletion the deleted one."""
        self.old = old
        """The object as it is, when it is changed."""
        self.warnings: list[str] = []

    @classmethod
    def of(
        cls,
        obj: T,
        *,
        old: T | None = None,
        operation: Operation | None = None,
        user: str = "",
        dry_run: bool = False,
    ) -> "Review[T]":
        """Build a review to test handlers; by default it is an update if `old` is given."""
        if operation is None:
            operation = Operation.CREATE if old is None else Operation.UPDATE
        request = AdmissionRequest(
            uid="",
            name=obj.metadata.name,
            namespace=obj.metadata.namespace,
            operation=operation.value,
            user_info=UserInfo(username=user),
            dry_run=dry_run,
        )
        return cls(request, operation, obj, old)

    @property
    def user(self) -> UserInfo:
        """The user of the request."""
        return self.request.user_info

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing will be stored, so nothing may be done elsewhere either."""
        return bool(self.request.dry_run)

    @property
    def subresource(self) -> str:
        """`status` or the like; empty for the object itself."""
        return self.request.sub_resource

    def warn(self, text: str) -> None:
        """Add a warning for the client that writes; the write is not denied."""
        self.warnings.append(text)
