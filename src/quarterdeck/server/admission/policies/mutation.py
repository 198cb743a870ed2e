"""What the mutations of a policy do to an object. Pure.

An ApplyConfiguration is merged into the object as server-side apply merges, but owns nothing. A
JSONPatch is applied as it is.
"""

import base64
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.meta.schema import Node
from quarterdeck.server.admission.metrics import COMPILE_ERROR, INVALID_ERROR, OUT_OF_BUDGET
from quarterdeck.server.admission.policies.evaluator import Variables
from quarterdeck.server.admission.policies.policy import (
    Expression,
    compile_one,
    compile_variables,
    parse_kind,
    parse_match,
)
from quarterdeck.server.kinds.admission_expressions import build_environment
from quarterdeck.server.kinds.mutating_admission_policies import (
    APPLY,
    get_patch_expression,
    get_patch_result,
)
from quarterdeck.server.registry.resource import Object
from quarterdeck.wire import json_patch

if TYPE_CHECKING:
    from quarterdeck import cel
    from quarterdeck.wire.apply.schema_type import Type

_MAX_OPERATIONS = 10_000


class MutationFailed(Exception):
    """Raised when a mutation fails; the text is the message of Kubernetes."""

    def __init__(self, text: str, error_type: str = INVALID_ERROR) -> None:
        super().__init__(text)
        self.error_type = error_type
        """The label `error_type` of the metrics."""


class Mutation(NamedTuple):
    """One mutation of a policy."""

    patch_type: str
    expression: Expression


class Programs(NamedTuple):
    """The compiled expressions of a policy."""

    variables: dict[str, Expression]
    mutations: tuple[Mutation, ...]


class MutatingPolicy:
    """A stored MutatingAdmissionPolicy, parsed; its expressions are compiled on first use."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._spec: Mapping[str, Any] = value["spec"]
        self.name: str = value["metadata"]["name"]
        self.fails_closed = self._spec.get("failurePolicy") != "Ignore"
        self.is_reinvoked = self._spec.get("reinvocationPolicy") == "IfNeeded"
        self.match = parse_match(self._spec.get("matchConstraints") or {})
        self.conditions = tuple(
            each["expression"] for each in self._spec.get("matchConditions") or ()
        )
        self.mutation_count = len(self._spec.get("mutations") or ())
        kind = self._spec.get("paramKind")
        self.param_kind = None if kind is None else parse_kind(kind)

    @property
    def is_compiled(self) -> bool:
        """Whether its expressions are compiled already; compiling takes too long for the loop."""
        return "programs" in self.__dict__

    @functools.cached_property
    def programs(self) -> Programs:
        """The compiled expressions."""
        variables, types = compile_variables(self._spec)
        environment = build_environment(
            has_params=self.param_kind is not None, has_patch_types=True, variables=types
        )
        return Programs(variables, tuple(self._compile(environment)))

    def _compile(self, environment: "cel.Environment") -> Iterator[Mutation]:
        for each in self._spec.get("mutations") or ():
            patch_type = each["patchType"]
            text = get_patch_expression(each)
            program = compile_one(environment, text, get_patch_result(patch_type))
            yield Mutation(patch_type, program)


def mutate(
    policy: MutatingPolicy,
    mutation: Mutation,
    known: Mapping[str, Any],
    *,
    node: Node,
    budget: "cel.Budget",
) -> Object:
    """Return the object after a mutation; `known` are the CEL variables.

    Raises:
        MutationFailed: if the expression fails, or its value cannot be applied.
    """
    from quarterdeck import cel

    expression = mutation.expression
    if expression.program is None:
        raise MutationFailed(expression.problem, COMPILE_ERROR)
    if policy.programs.variables:
        known = {**known, "variables": Variables(policy.programs.variables, known, budget)}
    try:
        found = expression.program.evaluate(known, budget=budget)
    except cel.CelError as error:
        if budget.remaining < 0:
            raise MutationFailed(str(error), OUT_OF_BUDGET) from error
        text = f"expression '{expression.text}' resulted in error: {error}"
        raise MutationFailed(text) from error
    if mutation.patch_type == APPLY:
        return _apply_configuration(known["object"], found, node)
    return _apply_patch(known["object"], found)


def _apply_configuration(value: Object, configuration: Any, node: Node) -> Object:
    from quarterdeck.wire.apply.merger import merge
    from quarterdeck.wire.apply.schema_type import ItemError, build_root_type
    from quarterdeck.wire.apply.walk import find_problems

    if problems := list(_check_type_names(configuration, configuration.type_name)):
        raise MutationFailed("type mismatch: " + "\n".join(problems))
    patch = {**to_json(configuration), "apiVersion": value["apiVersion"], "kind": value["kind"]}
    kind = build_root_type(node)
    if problems := find_problems(patch, kind, unique=True):
        raise MutationFailed(
            "error applying patch: failed to convert patch object to typed object: "
            + "\n".join(problems)
        )
    if atomics := list(_find_atomics(patch, kind, "")):
        raise MutationFailed(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps"
            f" or structs: {', '.join(atomics)}"
        )
    try:
        return merge(value, patch, kind)
    except ItemError as error:
        raise MutationFailed(f"error applying patch: failed to merge patch: {error}") from error


def _find_atomics(value: Any, kind: "Type", path: str) -> Iterator[str]:
    """Find the paths of atomic lists and maps: a patch with part of one would remove the rest."""
    if isinstance(value, dict) and kind.has_map:
        if kind.map_atomic:
            yield path
        for name, part in value.items():
            if (member := kind.find_declared_type(name)) is not None:
                yield from _find_atomics(part, member, f"{path}.{name}")
    elif isinstance(value, list) and kind.has_list:
        if kind.list_atomic:
            yield path
        for index, item in enumerate(value):
            yield from _find_atomics(item, kind.item, f"{path}[{index}]")


def _apply_patch(value: Object, operations: Sequence[Any]) -> Object:
    """Apply a JSON patch; a test that fails leaves the object as it is."""
    if len(operations) > _MAX_OPERATIONS:
        raise MutationFailed(
            f"JSON Patch: {len(operations)} operations; at most {_MAX_OPERATIONS} are allowed"
        )
    try:
        parsed = json_patch.parse([_to_operation(each) for each in operations])
    except ValueError as error:
        raise MutationFailed(f"JSON Patch: {error}") from error
    try:
        patched = json_patch.apply(value, parsed)
    except json_patch.JsonPatchError as error:
        if 0 <= error.index < len(parsed) and parsed[error.index].op is json_patch.Op.TEST:
            return value
        raise MutationFailed(f"JSON Patch: {error}") from error
    if not isinstance(patched, dict):
        raise MutationFailed("JSON Patch: the patch does not leave an object")
    if any(patched.get(name) != value.get(name) for name in ("apiVersion", "kind")):
        raise MutationFailed("JSON Patch: a policy may not change the kind of an object")
    return patched


def _to_operation(message: Any) -> Object:
    value = message.get("value")
    type_name = getattr(value, "type_name", "")
    if problems := list(_check_type_names(value, type_name)):
        raise MutationFailed("type mismatch: " + "\n".join(problems))
    operation: Object = {name: message.get(name, "") for name in ("op", "path")}
    if message.get("from"):
        operation["from"] = message["from"]
    if "value" in message:
        operation["value"] = to_json(value)
    return operation


def _check_type_names(value: Any, path: str) -> Iterator[str]:
    """Find values whose type name does not match the path of the field that contains them."""
    type_name = getattr(value, "type_name", None)
    if type_name is not None:
        if type_name != path:
            yield (
                f'unexpected type name "{type_name}", expected "{path}", which matches field name'
                " path from root Object type"
            )
        for name, part in value.items():
            yield from _check_type_names(part, f"{path}.{name}")
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _check_type_names(part, path)


def to_json(value: Any) -> Any:
    """Convert a CEL value to JSON.

    Raises:
        MutationFailed: if the value has no JSON form.
    """
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise MutationFailed(f"map key {key!r} is not a string")
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if value is None or isinstance(value, bool | int | float | str):
        return int(value) if type(value) is not bool and isinstance(value, int) else value
    from quarterdeck.cel.values import Duration, Timestamp

    if isinstance(value, Duration | Timestamp):
        return str(value)
    raise MutationFailed(f"a value of type {type(value).__name__} cannot become JSON")
