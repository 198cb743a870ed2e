"""The expressions of webhooks and admission policies: what they may refer to, and their checks.

The expression compiler is loaded by the first expression; a server without any never loads it.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quarterdeck.meta.field import FieldError, internal, invalid

if TYPE_CHECKING:
    from quarterdeck import cel

VARIABLES = "variables"
JSON_PATCH = "JSONPatch"
OBJECT = "Object"


class InvalidExpression(ValueError):
    """Raised when an expression cannot be compiled; the text is Kubernetes' complaint."""


@functools.cache
def get_request_type() -> "cel.Type":
    """The type of `request`: an AdmissionRequest without its objects."""
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
) -> "cel.Environment":
    """What an expression may refer to; `variables` are those declared before it.

    `objects` and `params` are the types of the object and of the parameters, where they are known.
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
        return cel.Environment(known, messages=find_patch_type)
    return cel.Environment(known)


def find_patch_type(name: str) -> "cel.Type | None":
    """The types of patches: `JSONPatch`, and `Object` with everything below it."""
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
    """Compile an expression that must have one of these types; any, if none is named.

    Raises:
        InvalidExpression: as Kubernetes words it.
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
    """What is wrong with an expression; None if it compiles."""
    try:
        compile_expression(environment, text, results)
    except InvalidExpression as error:
        return invalid(path, text, str(error))
    except RecursionError:
        return internal(path, "the expression is nested too deeply")
    return None
