"""Writes the source of one function of a JSON value, and compiles it.

Names of members and limits are literals in the source, made by `repr` of strings and numbers;
everything else is passed to the function by name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from quarterdeck.meta.schema import Node

Check = Callable[[Any], bool]

MAX_NODES = 160
"""Nodes that are inlined in one function: compiling them takes a few milliseconds."""
MAX_DEPTH = 8
"""Nested objects and lists that are inlined; Python allows at most 20 nested loops."""
MAX_PROPERTIES = 32
"""The most declared members of an inlined object, as they are looked up one by one."""


class Source:
    """The lines of a function of `v`, which ends with `result`: `return True` for a check."""

    def __init__(self, *, refusal: str = "return False", result: str = "return True") -> None:
        self._refusal = refusal
        self._result = result
        self._lines = ["def run(v):"]
        self._depth = 1
        self._variables = 0
        self._nodes = 0
        self._scope: dict[str, Any] = {}

    def add(self, line: str) -> None:
        """Add a line at the current depth."""
        self._lines.append("    " * self._depth + line)

    def refuse(self) -> None:
        """Write a return: the function refuses the value, or cannot decide."""
        self.add(self._refusal)

    def refuse_if(self, condition: str) -> None:
        """Write a return that is executed if a condition is true."""
        self.add(f"if {condition}:")
        self.add(f"    {self._refusal}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add lines inside a block with a head, such as an `if`."""
        self.add(head)
        self._depth += 1
        self.add("pass")
        yield
        self._depth -= 1

    @contextmanager
    def member(self, name: str, key: str) -> Iterator[str]:
        """Add lines that run if the object `name` has a member, with the member in a variable."""
        member = self.name_variable()
        with self.block(f"if {key!r} in {name}:"):
            self.add(f"{member} = {name}[{key!r}]")
            yield member

    @contextmanager
    def each(self, values: str) -> Iterator[str]:
        """Add lines that run for each value of an expression, with the value in a variable."""
        member = self.name_variable()
        with self.block(f"for {member} in {values}:"):
            yield member

    def name_variable(self) -> str:
        """Return a new variable name."""
        self._variables += 1
        return f"v{self._variables}"

    def bind(self, value: object) -> str:
        """Make a value available to the function; returns its name."""
        name = f"c{len(self._scope)}"
        self._scope[name] = value
        return name

    def reserve_node(self, members: int) -> bool:
        """Count a node with `members` declared members; False if a limit is exceeded."""
        self._nodes += 1
        return (
            self._nodes <= MAX_NODES and self._depth <= MAX_DEPTH * 2 and members <= MAX_PROPERTIES
        )

    def compile(self) -> Callable[[Any], Any]:
        """Compile the function."""
        text = "\n".join([*self._lines, f"    {self._result}"])
        scope = dict(self._scope)
        exec(compile(text, "<schema>", "exec"), scope)  # contains user input only as quoted names
        run: Callable[[Any], Any] = scope["run"]
        return run


def is_plain_object(node: Node) -> bool:
    """Whether a node allows only objects, without null, enumeration or combinators."""
    return node.type == "object" and is_unconditional(node)


def is_unconditional(node: Node) -> bool:
    """Whether a node has no alternatives: neither null, nor an enumeration, nor combinators."""
    return not (
        node.nullable
        or node.int_or_string
        or node.enum
        or node.all_of
        or node.any_of
        or node.one_of
        or node.not_
    )
