"""`${...}` in parameters: the grammar, and its evaluation. Pure.

    text := (literal | '$$' | '${' expr '}')*      a lone '$' is literal, so $values/ stays
    expr := ref | ref ':-' default | ref ':?' message
    ref  := 'params.' NAME | NAME
          | 'experiment.' ('name' | 'namespace' | 'uid')
          | 'target.' ('name' | 'cluster' | 'endpoint' | 'server' | 'namespace' | 'tenant')
          | 'targets.' NAME '.' ('name' | 'cluster' | 'endpoint' | 'server' | 'outputs.' NAME)

One pass: a substituted value is never expanded again. A default is used when the value is unset or
empty; `:?` makes that an error. A value of another target is known late, when that target is
ready, and only to targets that depend on it. `outputs.NAME` is the address of a Service that
spec.tutorial.services names.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_EXPRESSION = re.compile(rf"({_NAME}(?:\[\d+\][A-Za-z0-9_.\[\]-]*)?)(?:(:-|:\?)(.*))?", re.DOTALL)
_EXPERIMENT = frozenset({"name", "namespace", "uid"})
_TARGET = frozenset({"name", "cluster", "endpoint", "server", "namespace", "tenant"})
_OTHER = frozenset({"name", "cluster", "endpoint", "server"})


class SubstitutionError(ValueError):
    """Raised when a reference cannot be replaced; the message is the cause, or the text of `:?`."""


class Unknown(SubstitutionError):
    """Raised when a reference is not defined."""


class NotYet(SubstitutionError):
    """Raised when the value of a reference is known only after a target is ready."""

    def __init__(self, reference: str, target: str) -> None:
        super().__init__(f"${{{reference}}} is known when target {target} is ready")
        self.reference = reference
        self.target = target


class Reference(NamedTuple):
    """One `${...}`."""

    name: str
    operator: str = ""
    """':-', ':?' or empty."""
    operand: str = ""


class Scope(NamedTuple):
    """The values that references in one text may use."""

    params: Mapping[str, str] = {}
    experiment: Mapping[str, str] = {}
    target: Mapping[str, str] = {}
    """Values of the target that the text belongs to; empty for workflow parameters."""
    targets: Mapping[str, Mapping[str, str]] = {}
    """Values of other targets, by name; those that are not ready yet have no endpoint."""
    pending: frozenset[str] = frozenset()
    """Names in `targets` that are not ready yet."""


def substitute(text: str, scope: Scope) -> str:
    """Replace every reference in a text.

    Raises:
        Unknown: if a reference is not defined.
        NotYet: if it needs a value of a target that is not ready.
        SubstitutionError: if it is malformed, or has `:?` and no value.
    """
    return _replace(text, lambda reference: evaluate(reference, scope))


def find_references(text: str) -> Iterator[Reference]:
    """Find every reference in a text. Raises `SubstitutionError` for a malformed one."""
    for match in _TOKEN.finditer(text):
        if match[0] != "$$":
            yield _parse(match, text)


def evaluate(reference: Reference, scope: Scope) -> str:
    """Evaluate one reference; its operator applies if the value is absent or empty."""
    value = _look_up(reference, scope)
    if value:
        return value
    match reference.operator:
        case ":-":
            return reference.operand
        case ":?":
            raise SubstitutionError(reference.operand or f"{reference.name} must be set")
        case _ if value is None:
            raise Unknown(f"${{{reference.name}}} is not defined here{_suggest(reference, scope)}")
        case _:
            return value


def _replace(text: str, value: Callable[[Reference], str]) -> str:
    if "$" not in text:
        return text
    return _TOKEN.sub(
        lambda match: "$" if match[0] == "$$" else value(_parse(match, text)),
        text,
    )


def _parse(match: re.Match[str], text: str) -> Reference:
    body = match[1]
    if body is None:
        raise SubstitutionError(f"${{ at position {match.start()} of {text!r} is not closed by }}")
    found = _EXPRESSION.fullmatch(body)
    if found is None:
        raise SubstitutionError(
            f"${{{body}}} is not a reference; write ${{name}}, ${{name:-default}} or "
            "${name:?message}, and $$ for a dollar sign"
        )
    return Reference(found[1], found[2] or "", found[3] or "")


def _look_up(reference: Reference, scope: Scope) -> str | None:
    """The value of a reference; None if it is not defined, an empty string if it has no value."""
    name = reference.name
    head, _, rest = name.partition(".")
    match head:
        case "params" if rest:
            return scope.params.get(rest)
        case "experiment" if rest in _EXPERIMENT:
            return scope.experiment.get(rest, "")
        case "target" if rest in _TARGET and scope.target:
            return scope.target.get(rest, "")
        case "targets" if rest:
            return _look_up_target(reference, rest, scope)
        case _:
            return scope.params.get(name)


def _look_up_target(reference: Reference, rest: str, scope: Scope) -> str | None:
    target, _, member = rest.partition(".")
    if target not in scope.targets:
        raise Unknown(
            f"${{{reference.name}}} names target {target}, which is not among the targets that "
            "this one depends on; add it to depends"
        )
    if member.startswith("outputs.") and member not in scope.targets[target]:
        raise Unknown(_describe_outputs(reference, target, scope))
    if member not in _OTHER and not member.startswith("outputs."):
        return None
    value = scope.targets[target].get(member)
    if not value and target in scope.pending:
        raise NotYet(reference.name, target)
    return value if value is not None or member not in _OTHER else ""


def _describe_outputs(reference: Reference, target: str, scope: Scope) -> str:
    known = [name.removeprefix("outputs.") for name in scope.targets[target] if "." in name]
    return (
        f"${{{reference.name}}} names no Service of spec.tutorial.services on target {target}; "
        f"known there: {', '.join(sorted(known)) or 'none'}"
    )


def _suggest(reference: Reference, scope: Scope) -> str:
    known = ", ".join(sorted(scope.params)) or "none"
    return f"; parameters: {known}"
