"""The scale subresource of custom resources: paths into the object, declared by the definition."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.meta.field import FieldError, format_go_value, get_go_type, invalid
from quarterdeck.server.registry.resource import Object, Scale
from quarterdeck.wire.status import ApiError, Cause, Details, InternalError

_LARGEST = 2**31 - 1


class ScalePaths:
    """The JSON paths of the replica counts and the selector in an object."""

    __slots__ = ("selector", "spec", "status")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.spec: str = document.get("specReplicasPath", "")
        self.status: str = document.get("statusReplicasPath", "")
        self.selector: str = document.get("labelSelectorPath") or ""

    def read(self, value: Object) -> Scale:
        """Read the scale of an object.

        Raises:
            ApiError: 500 if the spec replicas field is absent, as in Kubernetes.
        """
        wanted = _get_field(value, self.spec)
        if not isinstance(wanted, int):
            raise _build_internal_error(f'the spec replicas field "{self.spec}" does not exist')
        actual = _get_field(value, self.status)
        selector = _get_field(value, self.selector) if self.selector else ""
        return Scale(
            wanted,
            actual if isinstance(actual, int) else 0,
            selector if isinstance(selector, str) else "",
        )

    def write(self, value: Object, replicas: int) -> None:
        """Set the number of wanted replicas."""
        *parents, last = _split_path(self.spec)
        place: dict[str, Any] = value
        for name in parents:
            below = place.setdefault(name, {})
            if not isinstance(below, dict):
                raise _build_internal_error(
                    f'the spec replicas field "{self.spec}" is not in an object'
                )
            place = below
        place[last] = replicas

    def validate(self, value: Object, *, status_only: bool) -> Iterator[FieldError]:
        """Find replica counts with a wrong type or out of range."""
        paths = (self.status,) if status_only else (self.spec, self.status)
        for path in paths:
            try:
                number = _read_number(value, path)
            except _WrongTypeError as error:
                yield invalid(path, 0, str(error))
                continue
            if number is None:
                continue
            if number < 0:
                yield invalid(path, number, "should be a non-negative integer")
            elif number > _LARGEST:
                yield invalid(path, number, f"should be less than or equal to {_LARGEST}")


class _WrongTypeError(ValueError):
    """Raised when a replica count, or a parent of it, has a wrong type; the text is Go's."""

    def __init__(self, path: str, value: object, expected: str) -> None:
        shown, kind = format_go_value(value), get_go_type(value)
        super().__init__(
            f"{path} accessor error: {shown} is of the type {kind}, expected {expected}"
        )


def _read_number(value: Any, path: str) -> int | None:
    """Read a number at a path; None if a member of the path is absent or null."""
    place = ""
    for name in _split_path(path):
        place = f"{place}.{name}"
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _WrongTypeError(place, value, "map[string]interface{}")
        if name not in value:
            return None
        value = value[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise _WrongTypeError(path, value, "int64")
    return value


def _split_path(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _get_field(value: Any, path: str) -> Any:
    for name in _split_path(path):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def _build_internal_error(text: str) -> ApiError:
    return InternalError(
        f"Internal error occurred: {text}", details=Details(causes=(Cause(message=text),))
    )
