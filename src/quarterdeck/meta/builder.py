"""The base class of generated builders, which build an object step by step.

A builder is immutable, so it can be kept as a template for several objects. It contains only the
fields that were set, as the body of a server-side apply must.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar

import msgspec

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.meta.objects import Object, build_owner_reference, decode

if TYPE_CHECKING:
    from quarterdeck.meta.structural import CompiledSchema

T = TypeVar("T", bound=Object)

Path = tuple[str, ...]


class BuildError(ValueError):
    """Raised when the fields that were set are not a valid object; `errors` name the fields."""

    def __init__(self, subject: str, errors: tuple[FieldError, ...]) -> None:
        super().__init__(f"{subject}: " + "; ".join(str(error) for error in errors))
        self.errors = errors


class Builder(Generic[T]):
    """The methods of all builders; the generated classes add a `with_…` for each field."""

    __slots__ = ("_values",)

    kind: ClassVar[type[Object]]
    """The type of the object; the generated class sets it."""

    _values: Mapping[Path, Any]

    def __init__(self, name: str, namespace: str = "") -> None:
        values: dict[Path, Any] = {("metadata", "name"): name}
        if namespace:
            values["metadata", "namespace"] = namespace
        object.__setattr__(self, "_values", values)

    if not TYPE_CHECKING:  # a type checker that saw it would allow every assignment

        def __setattr__(self, name: str, value: object) -> NoReturn:
            raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be assigned")

    def with_labels(self, labels: Mapping[str, str]) -> Self:
        """Add labels to those already set."""
        return self._merge(("metadata", "labels"), labels)

    def with_annotations(self, annotations: Mapping[str, str]) -> Self:
        """Add annotations to those already set."""
        return self._merge(("metadata", "annotations"), annotations)

    def with_finalizers(self, *finalizers: str) -> Self:
        """Set the finalizers, which must be removed before the object is deleted."""
        return self._set(("metadata", "finalizers"), finalizers)

    def with_owner(self, owner: Object) -> Self:
        """Set the owner that manages the object; the object is deleted with it."""
        return self._set(("metadata", "ownerReferences"), (build_owner_reference(owner),))

    def to_apply(self) -> dict[str, Any]:
        """Return only the fields that were set: the body of a server-side apply."""
        info = self.kind.KIND
        document: dict[str, Any] = {"apiVersion": info.api_version, "kind": info.kind}
        for path, value in self._values.items():
            place = document
            for name in path[:-1]:
                place = place.setdefault(name, {})
            place[path[-1]] = _to_plain(value)
        return document

    def build(self) -> T:
        """Build and validate the object.

        CEL rules are evaluated by the server only, because they may need state that only it has.

        Raises:
            BuildError: if a field is missing or invalid; the message names it.
        """
        document = self.to_apply()
        if errors := _validate(self.kind, document):
            raise BuildError(f"{self.kind.KIND.kind} {self._name()}", errors)
        built: T = decode(self.kind, msgspec.json.encode(document))  # type: ignore[assignment]
        built.__dict__.clear()
        return built

    def _name(self) -> str:
        namespace = self._values.get(("metadata", "namespace"), "")
        name = str(self._values["metadata", "name"])
        return f"{namespace}/{name}" if namespace else name

    def _set(self, path: Path, value: object) -> Self:
        copy = object.__new__(type(self))
        object.__setattr__(copy, "_values", {**self._values, path: value})
        return copy

    def _merge(self, path: Path, value: Mapping[str, str]) -> Self:
        return self._set(path, {**self._values.get(path, {}), **value})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name()})"


def _to_plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _validate(kind: type[Object], document: dict[str, Any]) -> tuple[FieldError, ...]:
    compiled = _compile_kind(kind)
    if "spec" in compiled.node.required:
        # rather name the fields that are missing than the whole
        document = {"spec": {}, **document}
    return (
        *_check_metadata(document["metadata"], kind),
        *compiled.validate(document),
        *compiled.find_duplicates(document),
    )


def _check_metadata(metadata: dict[str, Any], kind: type[Object]) -> Iterator[FieldError]:
    is_role = kind.KIND.group == "rbac.authorization.k8s.io"
    problems = names.check_path_segment if is_role else names.check_dns1123_subdomain
    yield from _prefix_errors("metadata.name", metadata["name"], problems)
    if (namespace := metadata.get("namespace")) is not None:
        yield from _prefix_errors("metadata.namespace", namespace, names.check_dns1123_label)
    for key, value in metadata.get("labels", {}).items():
        yield from _prefix_errors("metadata.labels", key, names.check_qualified_name)
        yield from _prefix_errors("metadata.labels", value, names.check_label_value)
    for key in metadata.get("annotations", {}):
        yield from _prefix_errors("metadata.annotations", key.lower(), names.check_qualified_name)


def _prefix_errors(
    path: str, value: str, problems: Callable[[str], list[str]]
) -> Iterator[FieldError]:
    for problem in problems(value):
        yield invalid(path, value, problem)


@functools.cache
def _compile_kind(kind: type[Object]) -> "CompiledSchema":
    from quarterdeck.meta import crd
    from quarterdeck.meta.structural import compile_schema

    return compile_schema(crd.build_schema(kind))
