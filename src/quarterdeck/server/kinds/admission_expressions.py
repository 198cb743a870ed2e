"""The expressions of webhooks and admission policies: their environment and compilation.

The CEL compiler is loaded with the first expression; a server without any never loads it.
"""

import functools
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quarterdeck.meta.field import FieldError, internal, invalid

if TYPE_CHECKING:
    from quarterdeck import cel
    from quarterdeck.server.registry.resource import Object

VARIABLES = "variables"
JSON_PATCH = "JSONPatch"
OBJECT = "Object"
_EXPRESSIONS = frozenset({"expression", "messageExpression", "valueExpression"})
"""Members whose text is an expression."""


class InvalidExpression(ValueError):
    """Raised when an expression cannot be compiled; the text is that of Kubernetes."""


@functools.cache
def get_request_type() -> "cel.Type":
    """Return the CEL type of `request`: an AdmissionRequest without its objects."""
    from quarterdeck import cel

    text = cel.STRING
    kind = cel.struct("kubernetes.GroupVersionKind", {"group": text, "version": text, "kind": text})
    resource = cel.struct(
        "kubernetes.GroupVersionResource", {"group": text, "version": text, "resource": text}
    )
    texts = cel.list_of(text)
    user = cel.struct(
        "kubernetes.UserInfo",
        {"username": text, "uid": text, "groups": texts, "extra": cel.map_of(text, texts)},
    )
    return cel.struct(
        "kubernetes.AdmissionRequest",
        {
            "kind": kind,
            "resource": resource,
            "subResource": text,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": text,
            "name": text,
            "namespace": text,
            "operation": text,
            "userInfo": user,
            "dryRun": cel.BOOL,
            "options": cel.DYN,
        },
    )


@functools.cache
def get_namespace_type() -> "cel.Type":
    """The type of `namespaceObject`: what a policy may see of a namespace."""
    from quarterdeck import cel

    text, texts = cel.STRING, cel.list_of(cel.STRING)
    labels = cel.map_of(text, text)
    condition = cel.struct(
        "kubernetes.NamespaceCondition",
        dict.fromkeys(("status", "type", "message", "reason"), text)
        | {"lastTransitionTime": cel.TIMESTAMP},
    )
    metadata = cel.struct(
        "kubernetes.NamespaceMetadata",
        {
            **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), text),
            "labels": labels,
            "annotations": labels,
            "creationTimestamp": cel.TIMESTAMP,
            "deletionTimestamp": cel.TIMESTAMP,
            "deletionGracePeriodSeconds": cel.INT,
            "generation": cel.INT,
            "finalizers": texts,
        },
    )
    return cel.struct(
        "kubernetes.Namespace",
        {
            "metadata": metadata,
            "spec": cel.struct("kubernetes.NamespaceSpec", {"finalizers": texts}),
            "status": cel.struct(
                "kubernetes.NamespaceStatus", {"conditions": cel.list_of(condition), "phase": text}
            ),
        },
    )


def build_environment(
    *,
    has_params: bool = False,
    has_authorizer: bool = True,
    has_patch_types: bool = False,
    variables: "Mapping[str, cel.Type] | None" = None,
    objects: "cel.Type | None" = None,
    params: "cel.Type | None" = None,
    stored: Container[str] | None = None,
) -> "cel.Environment":
    """Build the environment of an expression; `variables` are those declared before it.

    `objects` and `params` are the types of the object and of the params, if they are known.
    `stored` are the expressions that are not new; None if all are new.
    """
    from quarterdeck import cel

    known: dict[str, cel.Type] = {
        "object": objects or cel.DYN,
        "oldObject": objects or cel.DYN,
        "namespaceObject": get_namespace_type(),
        "request": get_request_type(),
    }
    if has_params:
        known["params"] = params or cel.DYN
    if has_authorizer:
        known["authorizer"] = cel.REQUEST_AUTHORIZER
    if variables is not None:
        known[VARIABLES] = cel.struct("kubernetes.variables", variables)
    if has_patch_types:
        return cel.Environment(known, messages=find_patch_type, stored=stored)
    return cel.Environment(known, stored=stored)


def collect_expressions(value: "Object") -> frozenset[str]:
    """Collect the expressions of a stored policy or webhook configuration, also stripped."""
    return frozenset(_walk_expressions(value))


def _walk_expressions(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for each in part:
            yield from _walk_expressions(each)
    elif isinstance(part, dict):
        for name, each in part.items():
            if name in _EXPRESSIONS and isinstance(each, str):
                yield each
                yield each.strip()
            else:
                yield from _walk_expressions(each)


def find_patch_type(name: str) -> "cel.Type | None":
    """Return the CEL type of a patch: `JSONPatch`, `Object` or a type below it; None for others."""
    from quarterdeck import cel
    from quarterdeck.cel.types import Kind, OpenFields, Type

    if name == JSON_PATCH:
        text = cel.STRING
        return cel.struct(name, {"op": text, "path": text, "from": text, "value": cel.DYN})
    if name == OBJECT or name.startswith(f"{OBJECT}."):
        return Type(Kind.STRUCT, name, fields=OpenFields())
    return None


def compile_expression(
    environment: "cel.Environment", text: str, results: "Sequence[cel.Type]" = ()
) -> "cel.Program":
    """Compile an expression, whose result must have one of the types if any are given.

    Raises:
        InvalidExpression: with the text of Kubernetes.
    """
    from quarterdeck import cel

    try:
        program = environment.compile(text, result=None)
    except cel.CompileError as error:
        raise InvalidExpression(f"compilation failed: {error}") from error
    if results and program.type not in results:
        wanted = [str(each) if each.params else each.name for each in results]
        shown = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        raise InvalidExpression(f"must evaluate to {shown} but got {program.type}")
    return program


def find_expression_error(
    path: str, environment: "cel.Environment", text: str, results: "Sequence[cel.Type]"
) -> FieldError | None:
    """Return the error of an expression; None if it compiles."""
    try:
        compile_expression(environment, text, results)
    except InvalidExpression as error:
        return invalid(path, text, str(error))
    except RecursionError:
        return internal(path, "the expression is nested too deeply")
    return None
