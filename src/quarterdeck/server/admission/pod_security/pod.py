"""The pod that Pod Security checks read, and the formatting of their messages. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.meta.field import quote


class Violation(NamedTuple):
    """A check that a pod fails."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Pod:
    """The spec and annotations of a pod, or of a template for pods."""

    def __init__(self, spec: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
        self.spec = spec
        self.annotations = annotations
        self.context: Mapping[str, Any] = spec.get("securityContext") or {}
        self.containers: list[Mapping[str, Any]] = [
            container
            for member in ("initContainers", "containers", "ephemeralContainers")
            for container in spec.get(member) or ()
        ]

    @property
    def is_windows(self) -> bool:
        """Whether `spec.os` of the pod is Windows."""
        return bool((self.spec.get("os") or {}).get("name") == "windows")

    def find(self, is_bad: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        """Return the names of containers for whose security context `is_bad` is true."""
        return [
            container.get("name") or ""
            for container in self.containers
            if is_bad(container.get("securityContext") or {})
        ]


def format_containers(names: Sequence[str]) -> str:
    """`container "a"` or `containers "a", "b"`."""
    return f"{choose_form(names, 'container')} {join_quoted(names)}"


def format_setters(*, is_pod: bool, names: Sequence[str]) -> str:
    """Name the pod, the containers, or both, as those that set a field."""
    setters = ["pod"] if is_pod else []
    if names:
        setters.append(format_containers(names))
    return " and ".join(setters)


def choose_form(things: Iterable[object], word: str) -> str:
    """Return the singular or the plural of a word, by the number of things."""
    return word if len(list(things)) == 1 else f"{word}s"


def join_quoted(texts: Iterable[str]) -> str:
    """`"a", "b"`."""
    return ", ".join(quote(text) for text in texts)
