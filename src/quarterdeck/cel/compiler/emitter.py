"""Trees to Python code.

The code assumes that everything goes well: fields are there, integers fit, dynamic values have
the right type. It raises (anything) as soon as that is not so, and then the interpreter takes
over; it never returns a wrong answer instead. Each comprehension becomes a function of its own
with a plain loop, the fastest thing Python has for it.
"""

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NamedTuple

from quarterdeck.cel import library, values
from quarterdeck.cel.adapt import converter, leaf, needs_whole
from quarterdeck.cel.compiler import support as emitted
from quarterdeck.cel.operations import arithmetic, comparison, containers
from quarterdeck.cel.operations.dispatch import OPERATORS, dispatcher
from quarterdeck.cel.patterns import searcher
from quarterdeck.cel.shapes import comparable, directly_equal, is_path, is_small
from quarterdeck.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal_,
    MapExpr,
    OptionalMap,
    Select,
)
from quarterdeck.cel.types import Kind, Type, is_optional

Function = Callable[..., Any]

_COMPARE = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_CLASSES: Mapping[Kind, type] = {
    Kind.BOOL: bool,
    Kind.INT: int,
    Kind.UINT: values.UInt,
    Kind.DOUBLE: float,
    Kind.STRING: str,
    Kind.BYTES: bytes,
    Kind.LIST: list,
    Kind.MAP: dict,
    Kind.DURATION: values.Duration,
    Kind.TIMESTAMP: values.Timestamp,
}
_INFALLIBLE = frozenset({"size_string", "string_size", "size_list", "list_size", "size_map",
                         "map_size", "size_bytes", "bytes_size"})  # fmt: skip


class NotCompilable(Exception):
    """Raised when an expression is better left to the interpreter."""


class Compiled(NamedTuple):
    """An expression as two functions: of its variables in order, and of a mapping of them."""

    by_position: Function
    by_name: Function


def compile_function(tree: Expr, parameters: tuple[str, ...]) -> Compiled:
    """Functions of the variables that compute the expression.

    Raises:
        NotCompilable: when it cannot be expressed.
    """
    emitter = _Emitter(parameters)
    try:
        body = emitter.whole(tree)
        names = ", ".join(f"v_{name}" for name in parameters)
        fetch = "".join(f"    v_{name} = m[{name!r}]\n" for name in parameters)
        emitter.functions.append(f"def by_position({names}):\n    return {body}\n")
        emitter.functions.append(f"def by_name(m):\n{fetch}    return {body}\n")
        code: CodeType = compile("\n".join(emitter.functions), "<cel>", "exec")
    except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
        raise NotCompilable(str(error)) from error
    namespace = emitter.namespace
    exec(code, namespace)  # the text above, nothing of the user's but quoted constants
    return Compiled(namespace["by_position"], namespace["by_name"])


class _Emitter:
    def __init__(self, parameters: tuple[str, ...]) -> None:
        self.namespace: dict[str, Any] = {"__builtins__": _BUILTINS}
        self.functions: list[str] = []
        self.scopes: list[tuple[str, ...]] = [parameters]
        self.constants: dict[int, str] = {}

    # names

    def bind(self, value: Any) -> str:
        """A global name for a Python object the code needs."""
        name = self.constants.get(id(value))
        if name is None:
            name = f"k{len(self.constants)}"
            self.constants[id(value)] = name
            self.namespace[name] = value
        return name

    def visible(self) -> list[str]:
        seen: dict[str, None] = {}
        for scope in self.scopes:
            seen.update(dict.fromkeys(scope))
        return list(seen)

    # values

    def whole(self, node: Expr) -> str:
        code = self.emit(node)
        if needs_whole(node.type):
            return f"{self.bind(converter(node.type))}({code})"
        if node.type.convert == "double" and not isinstance(node, Literal_):
            return f"float({code})"
        return code

    def boolean(self, node: Expr) -> str:
        """A value that must be a bool: checked where nothing proves it."""
        code = self.emit(node)
        if node.type.kind is Kind.BOOL and not (node.type.nullable and is_path(node)):
            return code
        return f"{self.bind(emitted.boolean)}({code})"

    def emit(self, node: Expr) -> str:
        match node:
            case Literal_():
                return self.literal(node)
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListExpr():
                return self.list_literal(node)
            case MapExpr():
                return self.map_literal(node)
            case Comprehension():
                return self.comprehension(node)
            case OptionalMap():
                return self.optional_map(node)
        raise NotCompilable(type(node).__name__)

    def literal(self, node: Literal_) -> str:
        value = node.value
        if type(value) in (bool, str, bytes, type(None)):
            return repr(value)
        if type(value) is int:
            return repr(value) if value >= 0 else f"({value!r})"
        return self.bind(value)

    def ident(self, node: Ident) -> str:
        if node.type_value is not None:
            return self.bind(node.type_value)
        convert = leaf(node.type)
        name = f"v_{node.name}"
        if convert is not None and node.type.convert != "double" and len(self.scopes) == 1:
            return f"{self.bind(convert)}({name})"
        return name

    def scalar(self, type_: Type, code: str) -> str:
        convert = leaf(type_)
        if convert is None or type_.convert == "double":
            return code
        return f"{self.bind(convert)}({code})"

    def select(self, node: Select) -> str:
        if node.ident is not None:
            return self.bind(node.ident.type_value)
        operand = self.emit(node.operand)
        if node.operand.type.kind is Kind.STRUCT:
            if node.test:
                return f"({operand}.get({node.member!r}) is not None)"
            code = f"{operand}[{node.member!r}]"
            if node.type.nullable:
                code = f"{self.bind(emitted.present)}({code})"
            return self.scalar(node.type, code)
        if node.operand.type.kind is Kind.MAP:
            if node.test:
                return f"({node.member!r} in {operand})"
            return self.scalar(node.type, f"{operand}[{node.member!r}]")
        if node.type.convert:
            raise NotCompilable("conversion inside an optional")
        function = containers.has if node.test else containers.select
        return f"{self.bind(function)}({operand}, {node.member!r})"

    # calls

    def call(self, node: Call) -> str:
        args = node.args
        match node.function:
            case "_&&_":
                return f"({self.boolean(args[0])} and {self.boolean(args[1])})"
            case "_||_":
                return f"({self.boolean(args[0])} or {self.boolean(args[1])})"
            case "!_":
                return f"(not {self.boolean(args[0])})"
            case "_?_:_":
                condition = self.boolean(args[0])
                return f"({self.emit(args[1])} if {condition} else {self.emit(args[2])})"
            case "or" | "orValue" if node.target is not None:
                return self.fallback(node, node.target)
            case "_==_" | "_!=_":
                return self.equality(node)
            case "@in":
                return self.membership(node)
            case "dyn":
                return self.whole(args[0])
            case "_[_]" | "_[?_]" | "_?._":
                return self.index(node)
        if node.function in _COMPARE and comparable(args[0].type, args[1].type):
            return self.comparison(node)
        if len(node.overloads) == 1 and (code := self.inline(node)) is not None:
            return code
        return self.general(node)

    def comparison(self, node: Call) -> str:
        left, right = (self.emit(part) for part in node.args)
        kinds = [part.type.kind for part in node.args]
        if kinds[0] is not kinds[1] and Kind.DOUBLE in kinds:
            left, right = f"float({left})", f"float({right})"
        return f"({left} {_COMPARE[node.function]} {right})"

    def inline(self, node: Call) -> str | None:
        """Calls that are one Python operation."""
        overload, operands = node.overloads[0], node.operands
        if overload in _INFALLIBLE:
            return f"len({self.emit(operands[0])})"
        if overload in _ARITHMETIC:
            template, check = _ARITHMETIC[overload]
            return self.arithmetic(template, check, operands)
        if overload in _STRINGS:
            parts = [self.emit(part) for part in operands]
            return _STRINGS[overload].format(*parts)
        if overload in ("matches_string", "matches"):
            return self.matches(operands)
        return None

    def arithmetic(self, template: str, check: Function | None, operands: list[Expr]) -> str:
        parts = [self.emit(part) for part in operands]
        code = template.format(*parts)
        if check is None or (check is arithmetic.checked_int and all(map(is_small, operands))):
            return code
        return f"{self.bind(check)}({code})"

    def matches(self, operands: list[Expr]) -> str | None:
        pattern = operands[1]
        if not isinstance(pattern, Literal_) or not isinstance(pattern.value, str):
            return None
        search = searcher(pattern.value)
        call = f"{self.bind(search)}({self.emit(operands[0])})"
        return call if search.__name__ == "search" else f"({call} is not None)"

    def general(self, node: Call) -> str:
        """Any function: picked now if the type is known, else by value."""
        operands = node.operands
        args = [
            self.emit(part) if node.function == "size" else self.whole(part) for part in operands
        ]
        function: Function | None = None
        if node.function not in OPERATORS and operands:
            table = library.functions()[node.function]
            kind = operands[0].type.kind
            function = table.get(_CLASSES.get(kind, _Nothing))
            if operands[0].type.nullable and is_path(operands[0]):
                function = None
        if function is None:
            function = dispatcher(node.function)
        code = f"{self.bind(function)}({', '.join(args)})"
        if node.function == "sum" and node.type.kind is not Kind.INT:
            return f"{self.bind(emitted.nonzero)}({code})"
        return code

    def equality(self, node: Call) -> str:
        left, right = node.args
        sign = "==" if node.function == "_==_" else "!="
        same = left.type.kind is right.type.kind
        if same and directly_equal(left.type) and directly_equal(right.type):
            return f"({self.emit(left)} {sign} {self.emit(right)})"
        function = comparison.equal if sign == "==" else comparison.not_equal
        return f"{self.bind(function)}({self.whole(left)}, {self.whole(right)})"

    def membership(self, node: Call) -> str:
        item, container = node.args
        kind = container.type.kind
        if kind is Kind.MAP and item.type.kind in (Kind.STRING, Kind.INT):
            return f"({self.emit(item)} in {self.emit(container)})"
        if kind is Kind.LIST and directly_equal(item.type) and not container.type.convert:
            element = container.type.params[0]
            if element.kind is item.type.kind and directly_equal(element):
                return f"({self.emit(item)} in {self.constant_list(container)})"
        return f"{self.bind(containers.is_in)}({self.whole(item)}, {self.whole(container)})"

    def constant_list(self, node: Expr) -> str:
        """A literal list of constants as a set."""
        if not isinstance(node, ListExpr) or node.optional or len(node.elements) < 2:
            return self.emit(node)
        constants = [part.value for part in node.elements if isinstance(part, Literal_)]
        if len(constants) < len(node.elements) or not all(
            type(value) is str for value in constants
        ):
            return self.emit(node)
        return self.bind(frozenset(constants))

    def index(self, node: Call) -> str:
        container, key = node.args
        code = self.emit(container)
        kind = container.type.kind
        if node.function == "_[_]" and kind is Kind.MAP and key.type.kind is Kind.STRING:
            return self.scalar(node.type, f"{code}[{self.emit(key)}]")
        if node.function == "_[_]" and kind is Kind.LIST:
            if isinstance(key, Literal_) and type(key.value) is int and key.value >= 0:
                return self.scalar(node.type, f"{code}[{key.value}]")
            if key.type.kind is Kind.INT:
                place = f"{self.bind(emitted.position)}({self.emit(key)})"
                return self.scalar(node.type, f"{code}[{place}]")
        if container.type.convert or node.type.convert:
            raise NotCompilable("conversion inside an optional")
        inner = container.type.params[0] if is_optional(container.type) else container.type
        if node.function == "_?._" and inner.kind is Kind.STRUCT:
            function: Function = emitted.optional_member
        else:
            function = OPERATORS[node.function]
        return f"{self.bind(function)}({code}, {self.emit(key)})"

    def fallback(self, node: Call, target: Expr) -> str:
        name = "or_" if node.function == "or" else "or_value"
        function = emitted.or_ if name == "or_" else emitted.or_value
        other = self.emit(node.args[0])
        return f"{self.bind(function)}({self.emit(target)}, lambda: {other})"

    # literals

    def list_literal(self, node: ListExpr) -> str:
        if node.optional:
            raise NotCompilable("optional elements")
        return f"[{', '.join(self.whole(part) for part in node.elements)}]"

    def map_literal(self, node: MapExpr) -> str:
        kinds = {entry.key.type.kind for entry in node.entries}
        constant = all(isinstance(entry.key, Literal_) for entry in node.entries)
        keys = [entry.key.value for entry in node.entries if isinstance(entry.key, Literal_)]
        if any(entry.optional for entry in node.entries) or not kinds <= {Kind.STRING, Kind.INT}:
            raise NotCompilable("optional or unusual keys")
        if not constant or len(set(keys)) < len(keys):
            raise NotCompilable("keys that may repeat")
        pairs = (f"{self.whole(entry.key)}: {self.whole(entry.value)}" for entry in node.entries)
        return f"{{{', '.join(pairs)}}}"

    # macros

    def comprehension(self, node: Comprehension) -> str:
        range_ = self.emit(node.range)
        outer = self.visible()
        self.scopes.append(tuple(name for name in (node.var, node.var2) if name))
        lines = _LOOPS[node.kind](self, node)
        self.scopes.pop()
        name = f"f{len(self.functions)}"
        params = ", ".join(["r", *(f"v_{variable}" for variable in outer)])
        head, source = self.head(node)
        body = "\n".join(["    " + line for line in lines[0]] + [f"    for {head} in {source}:"]
                         + ["        " + line for line in self.converted(node) + lines[1]]
                         + ["    " + line for line in lines[2]])  # fmt: skip
        self.functions.append(f"def {name}({params}):\n{body}\n")
        arguments = ", ".join([range_, *(f"v_{variable}" for variable in outer)])
        return f"{name}({arguments})"

    def head(self, node: Comprehension) -> tuple[str, str]:
        """What a loop binds, and what it runs over."""
        kind = node.range.type.kind
        if node.var2:
            sources = {Kind.MAP: "r.items()", Kind.LIST: "enumerate(r)"}
            source = sources.get(kind) or f"{self.bind(emitted.pairs)}(r)"
            return f"v_{node.var}, v_{node.var2}", source
        known = kind in (Kind.LIST, Kind.MAP)
        return f"v_{node.var}", "r" if known else f"{self.bind(emitted.elements)}(r)"

    def converted(self, node: Comprehension) -> list[str]:
        """Statements that turn stored scalars into values as they are met."""
        type_ = node.range.type
        is_map = type_.kind is Kind.MAP
        if not type_.params or (is_map and not node.var2):
            return []
        element = type_.params[-1]
        name = node.var2 or node.var
        convert = leaf(element)
        if convert is None or element.convert == "double":
            return []
        return [f"v_{name} = {self.bind(convert)}(v_{name})"]

    def optional_map(self, node: OptionalMap) -> str:
        if node.type.convert or node.target.type.convert:
            raise NotCompilable("conversion inside an optional")
        target = self.emit(node.target)
        outer = self.visible()
        self.scopes.append((node.var,))
        body = self.whole(node.body)
        self.scopes.pop()
        name = f"f{len(self.functions)}"
        params = ", ".join(f"v_{variable}" for variable in dict.fromkeys([*outer, node.var]))
        wrap = "r" if node.flat else f"{self.bind(values.some)}(r)"
        self.functions.append(f"def {name}({params}):\n    r = {body}\n    return {wrap}\n")
        passed = [f"v_{variable}" for variable in outer if variable != node.var]
        named = ", ".join([f"v_{node.var}=x", *(f"{one}={one}" for one in passed)])
        return f"{self.bind(emitted.map_optional)}({target}, lambda x: {name}({named}))"


Lines = tuple[list[str], list[str], list[str]]


def _quantifier(emitter: _Emitter, node: Comprehension) -> Lines:
    assert node.condition is not None
    condition = emitter.boolean(node.condition)
    if node.kind == "all":
        return [], [f"if not {condition}: return False"], ["return True"]
    return [], [f"if {condition}: return True"], ["return False"]


def _exists_one(emitter: _Emitter, node: Comprehension) -> Lines:
    assert node.condition is not None
    condition = emitter.boolean(node.condition)
    return ["n = 0"], [f"if {condition}: n += 1"], ["return n == 1"]


def _collect(emitter: _Emitter, node: Comprehension) -> Lines:
    value = emitter.whole(node.step) if node.step is not None else f"v_{node.var}"
    lines = [f"add({value})"]
    if node.condition is not None:
        lines = [f"if {emitter.boolean(node.condition)}: add({value})"]
    return ["out = []", "add = out.append"], lines, ["return out"]


def _collect_map(emitter: _Emitter, node: Comprehension) -> Lines:
    if node.kind == "transform_map_entry":
        raise NotCompilable("entries that may repeat")
    assert node.step is not None
    lines = [f"out[v_{node.var}] = {emitter.whole(node.step)}"]
    if node.condition is not None:
        lines = [f"if {emitter.boolean(node.condition)}: {lines[0]}"]
    return ["out = {}"], lines, ["return out"]


_LOOPS: Mapping[str, Callable[[_Emitter, Comprehension], Lines]] = {
    "all": _quantifier,
    "exists": _quantifier,
    "exists_one": _exists_one,
    "map": _collect,
    "filter": _collect,
    "transform_list": _collect,
    "transform_map": _collect_map,
    "transform_map_entry": _collect_map,
}

_ARITHMETIC: Mapping[str, tuple[str, Function | None]] = {
    "add_int64": ("({0} + {1})", arithmetic.checked_int),
    "subtract_int64": ("({0} - {1})", arithmetic.checked_int),
    "multiply_int64": ("({0} * {1})", arithmetic.checked_int),
    "negate_int64": ("(-{0})", arithmetic.checked_int),
    "divide_int64": ("{0}, {1}", arithmetic.divide_int),
    "modulo_int64": ("{0}, {1}", arithmetic.modulo_int),
    "add_double": ("({0} + {1})", None),
    "subtract_double": ("({0} - {1})", None),
    "multiply_double": ("{0}, {1}", arithmetic.multiply_double),
    "divide_double": ("{0}, {1}", arithmetic.divide_double),
    "negate_double": ("(-{0})", None),
    "add_string": ("({0} + {1})", None),
}
_STRINGS: Mapping[str, str] = {
    "contains_string": "({1} in {0})",
    "starts_with_string": "{0}.startswith({1})",
    "ends_with_string": "{0}.endswith({1})",
}
_BUILTINS = {
    "len": len,
    "float": float,
    "enumerate": enumerate,
}


class _Nothing:
    """No value has this class."""
