"""Writes Python code for a tree, given the kinds of value that each name has.

What the kinds rule out is not checked at run time: for two columns of numbers without
nulls, `a * b` becomes just that. Numbers are floats throughout. Every written expression is total:
it returns a value or null and never raises, so that one strange object cannot spoil a column.
"""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.engine.expressions import library, operations
from quarterdeck.engine.expressions.code import (
    EMPTY_TEXT,
    NOTHING,
    NUMERIC,
    ZERO,
    Code,
    is_nonzero,
    replace_null,
    write_list,
    write_literal,
    write_number,
)
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
from quarterdeck.engine.values import (
    ANY,
    BOOL,
    NULL,
    NUMBER,
    TEXT,
    number_to_text,
    to_number,
    to_text,
)

_HELPERS: dict[str, Any] = {
    "to_number": to_number,
    "to_text": to_text,
    "number_to_text": number_to_text,
    "to_list": operations.to_list,
    "add": operations.add,
    "less": operations.less,
    "less_or_equal": operations.less_or_equal,
    "remainder": library.remainder,
    "bound_text": library.bound_text,
}
NOW_SECONDS = "now_seconds"
NOW_TEXT = "now_text"


class Emitter:
    """Writes one expression. `helpers` are the globals that the code needs.

    Each node is visited once: callers keep code that they need twice.
    """

    def __init__(
        self, kinds: Mapping[str, int], variables: Mapping[str, str], times: Mapping[str, str]
    ) -> None:
        self._kinds = kinds
        self._variables = variables
        self._times = times
        """Variables that hold the seconds of a name's time, for `age`."""
        self._temporaries = 0
        self.helpers: dict[str, Any] = dict(_HELPERS)

    def emit_value(self, node: Expression) -> Code:
        """Emit code for a value of any kind."""
        match node:
            case Literal(value=value):
                return write_literal(value)
            case Name(name=name):
                return Code(self._variables[name], self._kinds[name], is_atom=True)
            case Unary(operator="!", operand=operand):
                return Code(f"(not {self.emit_truth(operand).text})", BOOL)
            case Unary(operand=operand):
                return self._guard([self.emit_number(operand)], lambda refs: f"-{refs[0]}", NUMBER)
            case Binary():
                return self._emit_binary(node)
            case Chain(operator="??", operands=operands):
                return self._emit_coalesce([self.emit_value(each) for each in operands])
            case Chain():
                code = self.emit_truth(node)
                return (
                    code if code.kinds == BOOL else Code(f"(True if {code.text} else False)", BOOL)
                )
            case Condition(test=test, then=then, otherwise=otherwise):
                return self._emit_choice(test, then, otherwise)
            case Call():
                return self._call(node)

    def emit_truth(self, node: Expression) -> Code:
        """Emit code whose Python truth is the truth of the node."""
        if not isinstance(node, Chain) or node.operator == "??":
            return self.emit_value(node)
        codes = [self.emit_truth(each) for each in node.operands]
        word = " and " if node.operator == "&&" else " or "
        kinds = BOOL if all(code.kinds == BOOL for code in codes) else ANY
        return Code(f"({word.join(code.text for code in codes)})", kinds)

    def emit_number(self, node: Expression) -> Code:
        """Emit code for a number or null."""
        return write_number(self.emit_value(node))

    def emit_text(self, code: Code) -> str:
        """Emit code for the text form of a value."""
        if code.kinds == TEXT:
            return code.text
        if code.kinds == TEXT | NULL:
            return f'({code.text} or "")'
        if code.kinds == NUMBER:
            return f"number_to_text({code.text})"
        if code.kinds == BOOL:
            return f'("true" if {code.text} else "false")'
        return f"to_text({code.text})"

    def _bind(self, code: Code) -> tuple[str, str]:
        """Code that computes and names a value, and its name from then on."""
        if code.is_atom:
            return code.text, code.text
        self._temporaries += 1
        name = f"t{self._temporaries}"
        return f"({name} := {code.text})", name

    def _guard(self, arguments: list[Code], write: Callable[[list[str]], str], kinds: int) -> Code:
        """Code that is null if one of the arguments is."""
        if any(argument.kinds == NULL for argument in arguments):
            return NOTHING
        tests, references = [], []
        for argument in arguments:
            if argument.is_nullable:
                definition, name = self._bind(argument)
                tests.append(f"{definition} is None")
                references.append(name)
            else:
                references.append(argument.text)
        if not tests:
            return Code(f"({write(references)})", kinds)
        return Code(f"(None if {' or '.join(tests)} else {write(references)})", kinds | NULL)

    def _emit_binary(self, node: Binary) -> Code:
        operator = node.operator
        if operator in ("==", "!="):
            left, right = self.emit_value(node.left), self.emit_value(node.right)
            return Code(f"({left.text} {operator} {right.text})", BOOL)
        if operator in ("<", "<=", ">", ">="):
            return self._order(operator, self.emit_value(node.left), self.emit_value(node.right))
        if operator == "+":
            left, right = self.emit_value(node.left), self.emit_value(node.right)
            if TEXT in (left.kinds, right.kinds):
                return Code(f"({self.emit_text(left)} + {self.emit_text(right)})", TEXT)
            if (left.kinds | right.kinds) & TEXT:
                return Code(f"add({left.text}, {right.text})", NUMBER | TEXT | NULL)
            return self._emit_arithmetic(operator, write_number(left), write_number(right))
        if operator in ("/", "%"):
            return self._divide(operator, self.emit_number(node.left), self.emit_number(node.right))
        return self._emit_arithmetic(
            operator, self.emit_number(node.left), self.emit_number(node.right)
        )

    def _emit_arithmetic(self, operator: str, left: Code, right: Code) -> Code:
        return self._guard([left, right], lambda refs: f"{refs[0]} {operator} {refs[1]}", NUMBER)

    def _order(self, operator: str, left: Code, right: Code) -> Code:
        kinds = left.kinds | right.kinds
        if not kinds & ~(NUMERIC | NULL):
            first, second = replace_null(left, ZERO), replace_null(right, ZERO)
            return Code(f"({first} {operator} {second})", BOOL)
        if not kinds & ~(TEXT | NULL):
            first, second = replace_null(left, EMPTY_TEXT), replace_null(right, EMPTY_TEXT)
            return Code(f"({first} {operator} {second})", BOOL)
        if operator in (">", ">="):
            left, right = right, left
        helper = "less" if operator in ("<", ">") else "less_or_equal"
        return Code(f"{helper}({left.text}, {right.text})", BOOL)

    def _divide(self, operator: str, left: Code, right: Code) -> Code:
        """A division; null if the divisor is zero or null, which Python finds in one test."""
        if NULL in (left.kinds, right.kinds):
            return NOTHING
        definition, divisor = self._bind(right)
        is_safe = right.is_atom and is_nonzero(right.text)
        tests = [] if is_safe else [definition]
        dividend = left.text
        if left.is_nullable:
            defined, dividend = self._bind(left)
            tests.append(f"{defined} is not None")
        text = f"{dividend} / {divisor}"
        if operator == "%":
            text = f"remainder({dividend}, {divisor})"
        if not tests:
            return Code(f"({text})", NUMBER)
        return Code(f"({text} if {' and '.join(tests)} else None)", NUMBER | NULL)

    def _emit_coalesce(self, candidates: list[Code]) -> Code:
        """The first value that is not null."""
        parts, kinds = [], 0
        for index, code in enumerate(candidates):
            is_last = index == len(candidates) - 1
            if code.kinds == NULL and not is_last:
                continue
            if is_last or not code.is_nullable:
                parts.append(code.text)
                kinds |= code.kinds
                break
            definition, name = self._bind(code)
            parts.append(f"{name} if {definition} is not None else ")
            kinds |= code.kinds & ~NULL
        if len(parts) == 1:
            return Code(parts[0], kinds)
        return Code(f"({''.join(parts)})", kinds)

    def _emit_choice(self, test: Expression, then: Expression, otherwise: Expression) -> Code:
        first, second = self.emit_value(then), self.emit_value(otherwise)
        text = f"({first.text} if {self.emit_truth(test).text} else {second.text})"
        return Code(text, first.kinds | second.kinds)

    def _call(self, node: Call) -> Code:
        name, arguments = node.function, node.arguments
        match name:
            case "if":
                return self._emit_choice(*arguments)
            case "coalesce":
                return self._emit_coalesce([self.emit_value(each) for each in arguments])
            case "now":
                return Code(NOW_TEXT, TEXT, is_atom=True)
            case "min" | "max":
                return self._emit_extreme("<" if name == "min" else ">", node)
            case "age" if isinstance(arguments[0], Name):
                seconds = Code(self._times[arguments[0].name], NUMBER | NULL, is_atom=True)
                return self._guard([seconds], lambda refs: f"{NOW_SECONDS} - {refs[0]}", NUMBER)
            case "toString":
                return Code(self.emit_text(self.emit_value(arguments[0])), TEXT)
            case "concat":
                return Code(f"({' + '.join(map(self._emit_as_text, arguments))})", TEXT)
            case "round" if len(arguments) == 1 or isinstance(arguments[1], Literal):
                return self._round(node)
            case _:
                return self._emit_call(FUNCTIONS[name], arguments)

    def _emit_as_text(self, node: Expression) -> str:
        return self.emit_text(self.emit_value(node))

    def _emit_extreme(self, operator: str, node: Call) -> Code:
        """The smaller or larger of two numbers; both are named, as each is written twice."""
        left, right = (self.emit_number(each) for each in node.arguments)
        if NULL in (left.kinds, right.kinds):
            return NOTHING
        (define_left, first), (define_right, second) = self._bind(left), self._bind(right)
        tests = [
            f"{define} is None"
            for code, define in ((left, define_left), (right, define_right))
            if code.is_nullable
        ]
        if not tests:
            text = f"({first} if {define_left} {operator} {define_right} else {second})"
            return Code(text, NUMBER)
        first_test = first if left.is_nullable else define_left
        second_test = second if right.is_nullable else define_right
        chosen = f"{first} if {first_test} {operator} {second_test} else {second}"
        return Code(f"(None if {' or '.join(tests)} else {chosen})", NUMBER | NULL)

    def _round(self, node: Call) -> Code:
        """Rounding to a number of decimals that is known, by a function made for it."""
        decimals: object = 0.0
        if len(node.arguments) > 1:
            literal = node.arguments[1]
            decimals = literal.value if isinstance(literal, Literal) else 0.0
        known = to_number(decimals)
        if known is None:
            return NOTHING
        name = f"round_{len(self.helpers)}"
        self.helpers[name] = library.rounder(known)
        return self._guard(
            [self.emit_number(node.arguments[0])], lambda refs: f"{name}({refs[0]})", NUMBER
        )

    def _emit_call(self, function: Function, arguments: tuple[Expression, ...]) -> Code:
        """A call of the function's implementation with converted arguments."""
        name = f"f_{function.name}"
        self.helpers[name] = function.apply
        codes = [self._emit_argument(function, index, each) for index, each in enumerate(arguments)]
        guarded = [code for code, is_guarded in codes if is_guarded]

        def write(references: list[str]) -> str:
            given = iter(references)
            texts = [next(given) if is_guarded else code.text for code, is_guarded in codes]
            if "time" in function.parameters:
                texts.append(NOW_SECONDS)
            return f"{name}({', '.join(texts)})"

        return self._guard(guarded, write, function.result)

    def _emit_argument(self, function: Function, index: int, node: Expression) -> tuple[Code, bool]:
        """An argument converted for its parameter, and whether null in it makes the result null."""
        code = self.emit_value(node)
        match function.parameter(index):
            case "number":
                return write_number(code), True
            case "list":
                return write_list(code), True
            case "text" | "time":
                return Code(self.emit_text(code), TEXT), False
            case _:
                return code, False
