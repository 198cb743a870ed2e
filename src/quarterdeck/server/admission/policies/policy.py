"""What policies and bindings say, from their stored form. Pure.

Expressions are compiled when a write first needs them: a start compiles none.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.matching import Rule, parse_rules
from quarterdeck.server.kinds.admission_expressions import (
    InvalidExpression,
    build_environment,
    compile_expression,
)
from quarterdeck.wire.label_selector import Selector

if TYPE_CHECKING:
    from quarterdeck import cel


class Match(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The rules and selectors by which a policy or binding matches writes."""

    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    namespace_selector: Selector
    object_selector: Selector
    is_exact: bool


def parse_match(match: Mapping[str, Any]) -> Match:
    """Parse `matchConstraints` or `matchResources`."""
    return Match(
        rules=parse_rules(match.get("resourceRules")),
        excluded=parse_rules(match.get("excludeResourceRules")),
        namespace_selector=Selector.from_label_selector(match.get("namespaceSelector") or {}),
        object_selector=Selector.from_label_selector(match.get("objectSelector") or {}),
        is_exact=match.get("matchPolicy") == "Exact",
    )


class Expression(NamedTuple):
    """An expression with its compiled program, or with its compilation error."""

    text: str
    program: "cel.Program | None"
    problem: str = ""


class Validation(NamedTuple):
    """One validation of a policy."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str


class Programs(NamedTuple):
    """The compiled expressions of a policy."""

    variables: dict[str, Expression]
    validations: tuple[Validation, ...]
    annotations: tuple[tuple[str, Expression], ...]


class Policy:
    """A stored ValidatingAdmissionPolicy, parsed; its expressions are compiled on first use."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._spec: Mapping[str, Any] = value["spec"]
        self.name: str = value["metadata"]["name"]
        self.fails_closed = self._spec.get("failurePolicy") != "Ignore"
        self.match = parse_match(self._spec.get("matchConstraints") or {})
        self.conditions = tuple(
            each["expression"] for each in self._spec.get("matchConditions") or ()
        )
        kind = self._spec.get("paramKind")
        self.param_kind = None if kind is None else parse_kind(kind)

    @property
    def is_compiled(self) -> bool:
        """Whether its expressions are compiled already; compiling takes too long for the loop."""
        return "programs" in self.__dict__

    @functools.cached_property
    def programs(self) -> Programs:
        """The compiled expressions."""
        return _compile(self._spec)


def parse_kind(kind: Mapping[str, Any]) -> GVK:
    """Parse the `paramKind` of a policy."""
    group, _, version = str(kind.get("apiVersion")).rpartition("/")
    return GVK(group, version, str(kind.get("kind")))


def _compile(spec: Mapping[str, Any]) -> Programs:
    from quarterdeck import cel
    from quarterdeck.cel.types import NULL

    has_params = spec.get("paramKind") is not None
    variables, types = compile_variables(spec)
    environment = build_environment(has_params=has_params, variables=types)
    messages = build_environment(has_params=has_params, has_authorizer=False, variables=types)
    validations = tuple(
        Validation(
            expression=compile_one(environment, each["expression"], cel.BOOL),
            message=(each.get("message") or "").strip(),
            message_expression=compile_one(messages, each["messageExpression"], cel.STRING)
            if each.get("messageExpression")
            else None,
            reason=each.get("reason") or "Invalid",
        )
        for each in spec.get("validations") or ()
    )
    annotations = tuple(
        (each["key"], compile_one(environment, each["valueExpression"], cel.STRING, NULL))
        for each in spec.get("auditAnnotations") or ()
    )
    return Programs(variables, validations, annotations)


def compile_variables(
    spec: Mapping[str, Any],
) -> "tuple[dict[str, Expression], dict[str, cel.Type]]":
    """Compile the variables of a policy, and return their types; each may use earlier ones."""
    from quarterdeck import cel

    has_params = spec.get("paramKind") is not None
    variables: dict[str, Expression] = {}
    types: dict[str, cel.Type] = {}
    for each in spec.get("variables") or ():
        environment = build_environment(has_params=has_params, variables=types)
        variable = compile_one(environment, each["expression"])
        variables[each["name"]] = variable
        types[each["name"]] = variable.program.type if variable.program else cel.DYN
    return variables, types


def compile_one(environment: "cel.Environment", text: str, *results: "cel.Type") -> Expression:
    """Compile an expression; an error is kept in it and reported when it is evaluated."""
    try:
        return Expression(text, compile_expression(environment, text, results))
    except (InvalidExpression, RecursionError) as error:
        return Expression(text, None, f"compilation error: {error}")


class ParamReference(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The `paramRef` of a binding: which objects its policy gets as `params`."""

    name: str
    namespace: str
    selector: Selector | None
    allows_absence: bool


class Binding:
    """A stored binding, parsed."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        spec: Mapping[str, Any] = value["spec"]
        self.name: str = value["metadata"]["name"]
        self.policy: str = spec["policyName"]
        self.actions: tuple[str, ...] = tuple(spec.get("validationActions") or ())
        match = spec.get("matchResources")
        self.match = None if match is None else parse_match(match)
        reference = spec.get("paramRef")
        self.params = None if reference is None else _parse_reference(reference)


def _parse_reference(reference: Mapping[str, Any]) -> ParamReference:
    selector = reference.get("selector")
    return ParamReference(
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        selector=None if selector is None else Selector.from_label_selector(selector),
        allows_absence=reference.get("parameterNotFoundAction") == "Allow",
    )
