"""Finds what cannot work before anything runs: names, functions, arities, kinds, patterns."""

import difflib
from collections.abc import Iterable, Mapping

from quarterdeck.engine.expressions.errors import ExpressionError
from quarterdeck.engine.expressions.functions import FUNCTIONS, Function
from quarterdeck.engine.expressions.tree import (
    Binary,
    Call,
    Chain,
    Condition,
    Expression,
    Literal,
    Name,
    Unary,
)
from quarterdeck.engine.values import BOOL, LIST, NULL, NUMBER, TEXT, name_kinds
from quarterdeck.kit.patterns import PatternError, compile_re2


def check(
    tree: Expression,
    kinds: Mapping[str, int],
    *,
    owner: str = "",
    noun: str = "field",
    is_condition: bool = False,
) -> list[ExpressionError]:
    """Every problem of an expression over fields of these kinds, left to right.

    `owner` is the computed field itself, which is never suggested; `noun` is what names stand for.
    A condition must be able to give true or false: a number would nearly always count as true.
    """
    checker = _Checker(kinds, owner, noun)
    found = checker.infer_kinds(tree)
    if is_condition and not found & BOOL:
        checker.note_no_condition(tree, found)
    return sorted(checker.problems, key=lambda problem: problem.position)


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint with the closest known names."""
    close = difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else ""


def describe_arity(function: Function) -> str:
    """How many arguments a function takes, for people."""
    if function.max_arguments is None:
        return f"{function.min_arguments} or more arguments"
    if function.max_arguments == function.min_arguments:
        return f"{function.min_arguments} argument{'' if function.min_arguments == 1 else 's'}"
    return f"{function.min_arguments} to {function.max_arguments} arguments"


class _Checker:
    def __init__(self, kinds: Mapping[str, int], owner: str, noun: str) -> None:
        self._kinds = kinds
        self._owner = owner
        self._noun = noun
        self.problems: list[ExpressionError] = []

    def infer_kinds(self, node: Expression) -> int:
        """The kinds a node may give; notes problems on the way."""
        match node:
            case Literal(value=value):
                return _find_literal_kinds(value)
            case Name(name=name):
                return self._name(node, name)
            case Unary(operator="!", operand=operand):
                self.infer_kinds(operand)
                return BOOL
            case Unary(operand=operand):
                return NUMBER | self._check_number(operand, "-")
            case Binary():
                return self._check_binary(node)
            case Chain(operator="??", operands=operands):
                return self._check_coalesce(operands)
            case Chain(operands=operands):
                for each in operands:
                    self.infer_kinds(each)
                return BOOL
            case Condition(test=test, then=then, otherwise=otherwise):
                self.infer_kinds(test)
                return self.infer_kinds(then) | self.infer_kinds(otherwise)
            case Call():
                return self._call(node)

    def note_no_condition(self, node: Expression, kinds: int) -> None:
        """Note that an expression gives these kinds where a condition is required."""
        message = f"the expression must be a condition, got {name_kinds(kinds)}"
        self._note(message, node, "compare it, for example with > 0")

    def _note(self, message: str, node: Expression, hint: str = "") -> None:
        self.problems.append(ExpressionError(message, node.position, hint))

    def _name(self, node: Expression, name: str) -> int:
        if name in self._kinds:
            return self._kinds[name]
        known = self._kinds.keys() - {self._owner}
        article = "an" if self._noun.startswith("a") else "a"
        hint = suggest(name, known) or f"add {article} {self._noun} called {name}"
        self._note(f"unknown {self._noun} {name!r}", node, hint)
        return NULL | NUMBER | TEXT | BOOL | LIST

    def _check_number(self, node: Expression, place: str) -> int:
        """Check that a node can be a number; whether it may be null."""
        kinds = self.infer_kinds(node)
        if kinds & (TEXT | LIST) and not kinds & (NUMBER | BOOL):
            hint = "convert it with toNumber()" if kinds & TEXT else "use sum() or count()"
            self._note(f"{place} requires a number, got {name_kinds(kinds)}", node, hint)
        return kinds & NULL

    def _check_binary(self, node: Binary) -> int:
        operator = node.operator
        if operator in ("==", "!="):
            self.infer_kinds(node.left)
            self.infer_kinds(node.right)
            return BOOL
        if operator in ("<", "<=", ">", ">="):
            return self._check_order(node)
        if operator == "+":
            return self._check_plus(node)
        nulls = self._check_number(node.left, operator) | self._check_number(node.right, operator)
        return NUMBER | nulls | (NULL if operator in "/%" else 0)

    def _check_plus(self, node: Binary) -> int:
        left, right = self.infer_kinds(node.left), self.infer_kinds(node.right)
        if TEXT in (left, right):
            return TEXT
        for kinds, side in ((left, node.left), (right, node.right)):
            if kinds & LIST and not kinds & (NUMBER | BOOL | TEXT):
                self._note(f"+ requires numbers or text, got {name_kinds(kinds)}", side)
        text = (left | right) & TEXT
        return NUMBER | text | ((left | right) & NULL)

    def _check_order(self, node: Binary) -> int:
        left, right = self.infer_kinds(node.left), self.infer_kinds(node.right)
        for kinds, side in ((left, node.left), (right, node.right)):
            if kinds & ~NULL == LIST:
                self._note(f"{node.operator} cannot compare a list", side, "use count() or sum()")
                return BOOL
        if not _are_comparable(left, right):
            self._note(
                f"{node.operator} cannot compare {name_kinds(left)} with {name_kinds(right)}",
                node,
                "convert one side with toNumber() or toString()",
            )
        return BOOL

    def _check_coalesce(self, operands: tuple[Expression, ...]) -> int:
        found = [self.infer_kinds(each) for each in operands]
        kinds = 0
        for each in found:
            kinds |= each & ~NULL
            if not each & NULL:
                return kinds
        return kinds | NULL

    def _call(self, node: Call) -> int:
        function = FUNCTIONS.get(node.function)
        if function is None:
            self._note(
                f"unknown function {node.function!r}", node, suggest(node.function, FUNCTIONS)
            )
        elif not _accepts_count(function, len(node.arguments)):
            self._note(
                f"{function.name} takes {describe_arity(function)}, not {len(node.arguments)}",
                node,
                f"write {function.signature}",
            )
        else:
            return self._check_arguments(function, node)
        for each in node.arguments:
            self.infer_kinds(each)
        return NULL | NUMBER | TEXT | BOOL | LIST

    def _check_arguments(self, function: Function, node: Call) -> int:
        if function.name == "coalesce":
            return self._check_coalesce(node.arguments)
        if function.name == "if":
            self.infer_kinds(node.arguments[0])
            return self.infer_kinds(node.arguments[1]) | self.infer_kinds(node.arguments[2])
        nulls = 0
        for index, argument in enumerate(node.arguments):
            match function.parameter(index):
                case "number":
                    nulls |= self._check_number(argument, function.name)
                case "list":
                    nulls |= self._check_list(argument, function.name)
                case _:
                    self.infer_kinds(argument)
        if function.name == "matches":
            self._check_pattern(node.arguments[1])
        return function.result | nulls

    def _check_list(self, node: Expression, place: str) -> int:
        kinds = self.infer_kinds(node)
        if kinds & ~NULL and not kinds & LIST:
            hint = "lists come from paths with [*] and from split()"
            self._note(f"{place} requires a list, got {name_kinds(kinds)}", node, hint)
        return kinds & NULL

    def _check_pattern(self, node: Expression) -> None:
        if isinstance(node, Literal) and isinstance(node.value, str):
            try:
                compile_re2(node.value)
            except PatternError as error:
                self._note(f"the pattern is not a regular expression (RE2): {error}", node)


def _find_literal_kinds(value: object) -> int:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    return TEXT if isinstance(value, str) else NUMBER


def _are_comparable(left: int, right: int) -> bool:
    """Whether two sides have a kind in common that can be ordered; null goes with everything."""
    if NULL in (left, right):
        return True
    numbers = left & (NUMBER | BOOL) and right & (NUMBER | BOOL)
    return bool(numbers or left & right & TEXT)


def _accepts_count(function: Function, count: int) -> bool:
    return count >= function.min_arguments and (
        function.max_arguments is None or count <= function.max_arguments
    )
