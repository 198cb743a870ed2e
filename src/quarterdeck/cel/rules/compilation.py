"""Compiles the rules of one schema node; the errors are those of CRD creation."""

from collections.abc import Container, Sequence

from quarterdeck.cel.cost.units import MAX
from quarterdeck.cel.errors import CompileError
from quarterdeck.cel.program import (
    Environment,
    InvalidPattern,
    Program,
    WrongResultType,
)
from quarterdeck.cel.rules import field_path
from quarterdeck.cel.rules.node import CompiledRule
from quarterdeck.cel.schema.declaration import MAX_REQUEST_BYTES
from quarterdeck.cel.types import BOOL, STRING, Type
from quarterdeck.meta import field
from quarterdeck.meta.field import Bare, FieldError, quote
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.schema import Node, Rule

EXPRESSION_LIMIT = 10_000_000
"""The most one rule of a CRD may be estimated to cost."""
CRD_LIMIT = 100_000_000
"""The most all rules of a CRD may be estimated to cost together."""

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


class CostLedger:
    """Estimated costs of a whole schema."""

    def __init__(self) -> None:
        self.total = 0
        self.expensive: list[tuple[int, str]] = []

    def add(self, path: str, cost: int) -> None:
        """Add one expression's cost."""
        self.total = min(self.total + cost, MAX)
        if cost >= CRD_LIMIT // 100:
            self.expensive.append((cost, path))
            self.expensive = sorted(self.expensive, key=lambda item: -item[0])[:4]

    def find_errors(self, path: str) -> list[FieldError]:
        """Errors if the schema as a whole is too expensive."""
        if self.total <= CRD_LIMIT:
            return []
        words = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        found = [field.forbidden(where, words) for _, where in self.expensive]
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*found, field.forbidden(path, _format_excess(what, self.total, CRD_LIMIT))]


def check_entries(node: Node, path: str) -> list[FieldError]:
    """The errors in the rules of a node, except those in their expressions."""
    errors: list[FieldError] = []
    for at, rule in enumerate(node.rules):
        errors += _check_entry(node, rule, f"{path}.x-kubernetes-validations[{at}]")
    return errors


def _check_entry(node: Node, rule: Rule, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = rule.rule.strip(), rule.message.strip()
    if not text:
        errors.append(field.required(f"{path}.rule", "rule is not specified"))
    elif rule.message and not message:
        errors.append(
            field.invalid(
                f"{path}.message",
                rule.message,
                _build_message("message", "must be non-empty if specified"),
            )
        )
    elif _has_line_break(message):
        errors.append(
            field.invalid(
                f"{path}.message",
                rule.message,
                _build_message("message", "must not contain line breaks"),
            )
        )
    elif _has_line_break(text) and not message:
        errors.append(
            field.required(
                f"{path}.message", "message must be specified if rule contains line breaks"
            )
        )
    if rule.message_expression and not rule.message_expression.strip():
        words = "messageExpression must be non-empty if specified"
        errors.append(field.required(f"{path}.messageExpression", words))
    if rule.reason and rule.reason not in _REASONS:
        errors.append(field.not_supported(f"{path}.reason", rule.reason, _REASONS))
    return errors + _check_path(node, rule, f"{path}.fieldPath")


def _check_path(node: Node, rule: Rule, path: str) -> list[FieldError]:
    if not rule.field_path:
        return []
    errors: list[FieldError] = []
    if not rule.field_path.strip():
        words = _build_message("fieldPath", "must be non-empty if specified")
        errors.append(field.invalid(path, rule.field_path, words))
    if _has_line_break(rule.field_path):
        words = _build_message("fieldPath", "must not contain line breaks")
        errors.append(field.invalid(path, rule.field_path, words))
    try:
        field_path.normalize(rule.field_path, node)
    except field_path.PathError:
        words = _build_message("fieldPath", "must be a valid path")
        errors.append(field.invalid(path, rule.field_path, words))
    return errors


def _build_message(member: str, words: str) -> str:
    """An error message about a member; in older releases it begins with the member's name."""
    return words if has_feature("NewerMessages") else f"{member} {words}"


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def compile_node(
    node: Node,
    declared: Type,
    path: str,
    *,
    cardinality: int | None,
    uncorrelatable: str,
    ledger: CostLedger,
    stored: Container[str] | None = None,
) -> tuple[list[CompiledRule], list[FieldError]]:
    """Compile the rules of one node; returns them and all errors.

    `cardinality` is how often the node can occur in an object, None if nothing bounds it;
    `uncorrelatable` is the path of the list above whose items have no old value; `stored` the
    expressions that were stored before, None if all were.
    """
    compiled: list[CompiledRule] = []
    errors: list[FieldError] = []
    if cardinality is None:
        cardinality = MAX_REQUEST_BYTES // (declared.min_size + 1)
    for at, rule in enumerate(node.rules):
        where = f"{path}.x-kubernetes-validations[{at}]"
        one = _Compilation(node, rule, declared, path=where, stored=stored)
        errors += one.run(cardinality, uncorrelatable, ledger)
        if one.result is not None:
            compiled.append(one.result)
    return compiled, errors


class _Compilation:
    def __init__(
        self,
        node: Node,
        rule: Rule,
        declared: Type,
        *,
        path: str,
        stored: Container[str] | None,
    ) -> None:
        self.node = node
        self.rule = rule
        self.path = path
        self.environment = Environment.for_type(
            declared,
            old_self=True,
            optional_old_self=bool(rule.optional_old_self),
            stored=stored,
        )
        self.errors: list[FieldError] = []
        self.result: CompiledRule | None = None

    def run(self, cardinality: int, uncorrelatable: str, ledger: CostLedger) -> list[FieldError]:
        program = self.compile("rule", self.rule.rule, BOOL)
        cost = min(program.estimated_cost.max * cardinality, MAX) if program is not None else 0
        self.add_cost("rule", "estimated rule cost", cost, ledger)
        message: Program | None = None
        if program is not None and self.rule.message_expression:
            message = self.compile("messageExpression", self.rule.message_expression, STRING)
            if message is not None:
                words = "estimated messageExpression cost"
                self.add_cost("messageExpression", words, message.estimated_cost.max, ledger)
        self.check_old_self(program, uncorrelatable)
        if program is not None and not self.errors:
            self.finish(program, message)
        return self.errors

    def compile(self, member: str, text: str, wanted: Type) -> Program | None:
        prefix = "" if member == "rule" else "messageExpression "
        try:
            return self.environment.compile(text, result=wanted)
        except WrongResultType:
            subject = "cel expression" if member == "rule" else "messageExpression"
            detail = f"{subject} must evaluate to a {wanted}"
        except InvalidPattern as error:
            detail = f"{prefix or 'program '}instantiation failed: {error.problem}"
        except CompileError as error:
            detail = f"{prefix}compilation failed: {error}"
        self.errors.append(field.invalid(f"{self.path}.{member}", show_rule(self.rule), detail))
        return None

    def add_cost(self, member: str, words: str, cost: int, ledger: CostLedger) -> None:
        path = f"{self.path}.{member}"
        if cost > EXPRESSION_LIMIT:
            self.errors.append(field.forbidden(path, _format_excess(words, cost, EXPRESSION_LIMIT)))
        ledger.add(path, cost)

    def check_old_self(self, program: Program | None, uncorrelatable: str) -> None:
        if program is not None and program.uses_old_self:
            if uncorrelatable:
                words = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
                self.errors.append(
                    field.invalid(f"{self.path}.rule", self.rule.rule, f"{words} {uncorrelatable}")
                )
        elif self.rule.optional_old_self is not None:
            self.errors.append(
                field.invalid(
                    f"{self.path}.optionalOldSelf",
                    self.rule.optional_old_self,
                    "may not be set if oldSelf is not used in rule",
                )
            )

    def finish(self, program: Program, message: Program | None) -> None:
        path = field_path.normalize(self.rule.field_path, self.node) if self.rule.field_path else ""
        self.result = CompiledRule(
            rule=self.rule,
            program=program,
            message=message,
            field_path=path,
            uses_old=program.uses_old_self,
            optional_old=bool(self.rule.optional_old_self),
        )


def _format_excess(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


def show_rule(rule: Rule) -> Bare:
    """A rule as Go prints its struct, which error messages of CRDs contain."""
    reason = "(nil)" if not rule.reason else "(0xc000000000)"
    optional = "(nil)" if rule.optional_old_self is None else "(0xc000000000)"
    members: Sequence[str] = (
        f"Rule:{quote(rule.rule)}",
        f"Message:{quote(rule.message)}",
        f"MessageExpression:{quote(rule.message_expression)}",
        f"Reason:(*apiextensions.FieldValueErrorReason){reason}",
        f"FieldPath:{quote(rule.field_path)}",
        f"OptionalOldSelf:(*bool){optional}",
    )
    return Bare(f"apiextensions.ValidationRule{{{', '.join(members)}}}")
