"""Runs the rules of a schema on one object.

There are two modes: the quick one charges the maximum cost of each rule, the exact one counts every
step. The quick mode gives up when the maximum exceeds the budget; then the exact one is needed.
"""

from typing import Any, NamedTuple

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT, Budget, round_size_up
from quarterdeck.cel.errors import BudgetExceeded, EvaluationError
from quarterdeck.cel.program import OUT_OF_BUDGET, Program
from quarterdeck.cel.rules.node import CompiledRule, RuleNode
from quarterdeck.cel.values import NONE, make_optional
from quarterdeck.meta import field
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.schema import Rule

MAX_MESSAGE_BYTES = 5 * 1024
"""The longest text a messageExpression may give."""


class ValidationResult(NamedTuple):
    """The errors of an object, and as warnings those in values that the update left unchanged."""

    errors: list[FieldError]
    warnings: list[FieldError]


class _Stop(Exception):
    """Raised to end the validation: no further rules are run."""


class _TooExpensive(Exception):
    """Raised when the maximum cost exceeds the budget, so that costs must be counted exactly."""


class _Frame:
    """A value, the old value it replaces if any, and the frame of its parent."""

    __slots__ = ("correlated", "old", "parent", "value")

    def __init__(
        self, value: Any, old: Any, parent: "_Frame | None" = None, *, correlated: bool
    ) -> None:
        self.value = value
        self.old = old
        self.correlated = correlated
        self.parent = parent

    def is_unchanged(self) -> bool:
        frame: _Frame | None = self
        while frame is not None and not frame.correlated:
            frame = frame.parent
        return frame is not None and frame.old is not None and bool(frame.value == frame.old)


class Evaluation:
    """Validates one object; without `size` the cost of every step is counted."""

    __slots__ = ("budget", "cap", "outcome")

    def __init__(self, budget: int, *, size: int | None) -> None:
        self.budget = Budget(budget)
        self.cap = round_size_up(size) if size is not None else None
        self.outcome = ValidationResult([], [])

    def walk(self, root: RuleNode, obj: Any, old: Any) -> bool:
        """Run all rules; False if the quick mode gave up: validate again without `size`."""
        try:
            self._visit_node(root, _Frame(obj, old, correlated=old is not None), "")
        except _Stop:
            pass
        except _TooExpensive:
            return False
        return True

    def _visit_node(self, node: RuleNode, frame: _Frame, path: str) -> None:
        value = frame.value
        if value is None:
            return
        if node.rules:
            self._run_rules(node, frame, path)
        for part in node.all_of:
            self._run_rules(part, _Frame(value, frame.old, frame.parent, correlated=False), path)
        if type(value) is dict:
            self._visit_object(node, frame, path)
        elif type(value) is list and node.items is not None:
            self._visit_list(node, node.items, frame, path)

    def _visit_object(self, node: RuleNode, frame: _Frame, path: str) -> None:
        old = frame.old if type(frame.old) is dict else {}
        if node.additional is not None:
            for key, child in frame.value.items():
                self._visit_node(
                    node.additional, self._build_child(frame, child, old, key), f"{path}[{key}]"
                )
        if not node.properties:
            return
        for key, rules in node.properties.items():
            if (child := frame.value.get(key)) is not None:
                below = f"{path}.{key}" if path else key
                self._visit_node(rules, self._build_child(frame, child, old, key), below)

    @staticmethod
    def _build_child(frame: _Frame, child: Any, old: dict[str, Any], key: str) -> _Frame:
        if frame.parent is None and key in ("apiVersion", "kind"):
            # conversion between versions sets these two, so they may differ unseen
            return _Frame(child, old.get(key), correlated=False)
        return _Frame(child, old.get(key), frame, correlated=frame.correlated)

    def _visit_list(self, node: RuleNode, items: RuleNode, frame: _Frame, path: str) -> None:
        keys = node.list_keys
        known: dict[tuple[Any, ...], Any] = {}
        if keys is not None and type(frame.old) is list:
            known = {_key_of(item, keys): item for item in frame.old if type(item) is dict}
        for at, item in enumerate(frame.value):
            old = None
            if keys is not None and type(item) is dict:
                old = known.get(_key_of(item, keys))
            correlated = keys is not None and frame.correlated
            below = _Frame(item, old, frame, correlated=correlated)
            self._visit_node(items, below, f"{path}[{at}]")

    # rules

    def _run_rules(self, node: RuleNode, frame: _Frame, path: str) -> None:
        if self.cap is None:
            if self.budget.remaining <= 0:
                self._add_error(path, node, OUT_OF_BUDGET)
                raise _Stop
        else:
            self._reserve(node, self.cap)
        value = frame.value
        mismatch = find_type_mismatch(node.type, value)
        for rule in node.rules:
            old = frame.old
            if rule.optional_old:
                old = NONE if old is None else make_optional(old)
            elif rule.uses_old and old is None:
                continue
            if mismatch:
                detail = f"{mismatch} evaluating rule: {_describe_rule(rule.rule)}"
                self._add_error(path, node, detail)
                continue
            if self.cap is not None:
                try:
                    if rule.program.by_position(value, old) is True:
                        continue
                except Exception:  # whatever it is, the interpreter explains it below
                    pass
            if self._evaluate_rule(rule, node, value, path, old) is False:
                self._report(rule, node, frame, path, old)

    def _reserve(self, node: RuleNode, cap: int) -> None:
        """Charge the maximum cost of the node's rules; give up if it exceeds the budget."""
        total, highest = node.get_max_costs(cap)
        self.budget.remaining -= total
        if highest > PER_CALL_LIMIT or self.budget.remaining < 0:
            raise _TooExpensive

    def _evaluate_rule(
        self, rule: CompiledRule, node: RuleNode, value: Any, path: str, old: Any
    ) -> bool | None:
        """Whether the rule is satisfied; None if its evaluation failed, which is reported."""
        try:
            result = self._run(rule.program, value, old)
        except BudgetExceeded as error:
            if str(error) == OUT_OF_BUDGET:
                self._add_error(path, node, OUT_OF_BUDGET)
            else:
                words = "no further validation rules will be run due to call cost exceeds limit"
                self._add_error(
                    path, node, f"'{error}': {words} for rule: {_describe_rule(rule.rule)}"
                )
            raise _Stop from None
        except EvaluationError as error:
            text = str(error)
            if text.startswith("no such overload"):
                words = "call arguments did not match a supported operator, function or macro"
                detail = f"'{text}': {words} signature for rule: {_describe_rule(rule.rule)}"
            else:
                detail = f"{text} evaluating rule: {_describe_rule(rule.rule)}"
            self._add_error(path, node, detail)
            return None
        return result is True

    def _run(self, program: Program, value: Any, old: Any) -> Any:
        if self.cap is None:
            return program.measure({"self": value, "oldSelf": old}, self.budget)
        return program.run(value, old)

    def _add_error(self, path: str, node: RuleNode, detail: str) -> None:
        self.outcome.errors.append(field.invalid(path or "<nil>", node.type, detail))

    def _report(
        self, rule: CompiledRule, node: RuleNode, frame: _Frame, path: str, old: Any
    ) -> None:
        where = path
        if rule.field_path:
            glue = "" if not path or rule.field_path.startswith("[") else "."
            where = f"{path}{glue}{rule.field_path}"
        detail = self._build_message(rule, node, frame, where, old)
        shown = _choose_value(node, frame) if has_feature("RulesShowValues") else node.type
        error = _build_error(rule.rule.reason, where or "<nil>", shown, detail)
        if not rule.uses_old and frame.is_unchanged():
            self.outcome.warnings.append(error)
        else:
            self.outcome.errors.append(error)

    def _build_message(
        self, rule: CompiledRule, node: RuleNode, frame: _Frame, where: str, old: Any
    ) -> str:
        fallback = rule.rule.message.strip() or f"failed rule: {_describe_rule(rule.rule)}"
        if rule.message is None:
            return fallback
        if self.cap is not None:
            self.budget.remaining -= (bound := rule.message.get_cost_bound(self.cap))
            if bound > PER_CALL_LIMIT or self.budget.remaining < 0:
                raise _TooExpensive
        try:
            text = self._run(rule.message, frame.value, old)
        except BudgetExceeded as error:
            if str(error) == OUT_OF_BUDGET:
                detail = (
                    "messageExpression evaluation failed due to running out of cost budget, no "
                    "further validation rules will be run"
                )
            else:
                detail = (
                    "no further validation rules will be run due to call cost exceeds limit for "
                    f"messageExpression: {field.quote(rule.rule.message_expression)}"
                )
            self._add_error(where, node, detail)
            raise _Stop from None
        except EvaluationError:
            return fallback
        text = text.strip() if type(text) is str else ""
        if not text or "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES:
            return fallback
        return text


def _key_of(item: dict[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(item.get(name) for name in keys)


_SCALARS: dict[str, tuple[str, tuple[type, ...]]] = {
    "string": ("string", (str,)),
    "integer": ("int", (int,)),
    "number": ("float", (float, int)),
    "boolean": ("bool", (bool,)),
}


def find_type_mismatch(declared: str, value: Any) -> str:
    """Kubernetes' error for a value that rules cannot read as the declared type; empty if they can.

    The schema lets such values pass: numbers like 1000.0 for integers, and old values that were
    stored before the type changed.
    """
    if declared == "object":
        what = "a map for the provided schema with type=object"
        return "" if type(value) is dict else f"invalid data, expected {what}"
    if declared == "array":
        what = "an array for the provided schema with type=array"
        return "" if type(value) is list else f"invalid data, expected {what}"
    word, types = _SCALARS.get(declared, ("", ()))
    if not word or type(value) in types:
        return ""
    return f"invalid data, expected {word}, got {field.get_go_type(value)}"


def _describe_rule(rule: Rule) -> str:
    return rule.message.strip() or rule.rule.strip()


def _choose_value(node: RuleNode, frame: _Frame) -> object:
    """The value in an error of newer releases: objects and lists are omitted."""
    return field.OMITTED if node.type in ("object", "array") else frame.value


def _build_error(reason: str, path: str, value: object, detail: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return field.forbidden(path, detail)
        case "FieldValueRequired":
            return field.required(path, detail)
        case "FieldValueDuplicate":
            return field.duplicate(path, value)
        case _:
            return field.invalid(path, value, detail)
