"""The scale subresource of custom resources: paths into the object, declared by the definition."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.meta.field import FieldError, format_go_value, get_go_type, invalid
from quarterdeck.server.registry.resource import Object, Scale
from quarterdeck.wire.status import ApiError, Cause, Details, InternalError

_LARGEST = 2**31 - 1


class ScalePaths:
    """Where an object keeps its replica numbers and its selector."""

    __slots__ = ("selector", "spec", "status")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.spec: str = document.get("specReplicasPath", "")
        self.status: str = document.get("statusReplicasPath", "")
        self.selector: str = document.get("labelSelectorPath") or ""

    def read(self, value: Object) -> Scale:
        """Read the scale of an object.

        Raises:
            ApiError: 500 where the number of wanted replicas is absent, as Kubernetes has it.
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
        """Find what is wrong with the numbers in an object."""
        paths = (self.status,) if status_only else (self.spec, self.status)
        for path in paths:
            number = _get_field(value, path)
            if number is None:
                continue
            if not isinstance(number, int) or isinstance(number, bool):
                shown, kind = format_go_value(number), get_go_type(number)
                text = f"{path} accessor error: {shown} is of the type {kind}, expected int64"
                yield invalid(path, 0, text)
            elif number < 0:
                yield invalid(path, number, "should be a non-negative integer")
            elif number > _LARGEST:
                yield invalid(path, number, f"should be less than or equal to {_LARGEST}")


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
