"""Writes the source of one function over a JSON value, and compiles it.

Names of members and limits go into the source as literals made by `repr` of strings and numbers;
everything else is handed to the function by name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from quarterdeck.meta.schema import Node

Check = Callable[[Any], bool]

MAX_NODES = 160
"""Places written out in one function: compiling them takes a few milliseconds."""
MAX_DEPTH = 8
"""Objects and lists inside of each other that are written out; Python nests at most 20 loops."""
MAX_PROPERTIES = 32
"""Declared members that are looked for one by one in each object."""


class Source:
    """The lines of a function of `v`: a check that returns True at its end, or something else."""

    def __init__(self, *, refusal: str = "return False", result: str = "return True") -> None:
        self._refusal = refusal
        self._result = result
        self._lines = ["def run(v):"]
        self._depth = 1
        self._variables = 0
        self._nodes = 0
        self._scope: dict[str, Any] = {}

    def add(self, line: str) -> None:
        """Add a line at the present depth."""
        self._lines.append("    " * self._depth + line)

    def refuse(self) -> None:
        """Stop here: the function says no, or does not know."""
        self.add(self._refusal)

    def refuse_if(self, condition: str) -> None:
        """Stop where a condition holds."""
        self.add(f"if {condition}:")
        self.add(f"    {self._refusal}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines added inside stand below a head, such as an `if`."""
        self.add(head)
        self._depth += 1
        self.add("pass")
        yield
        self._depth -= 1

    @contextmanager
    def member(self, name: str, key: str) -> Iterator[str]:
        """The lines added inside see a member of the object `name`, where it has that member."""
        member = self.name_variable()
        with self.block(f"if {key!r} in {name}:"):
            self.add(f"{member} = {name}[{key!r}]")
            yield member

    @contextmanager
    def each(self, values: str) -> Iterator[str]:
        """The lines added inside see each of the values that an expression gives."""
        member = self.name_variable()
        with self.block(f"for {member} in {values}:"):
            yield member

    def name_variable(self) -> str:
        """A name no other variable has."""
        self._variables += 1
        return f"v{self._variables}"

    def bind(self, value: object) -> str:
        """A name under which the function finds a value."""
        name = f"c{len(self._scope)}"
        self._scope[name] = value
        return name

    def accepts_members(self, members: int) -> bool:
        """Count a place with `members` declared members; whether it may still be written out."""
        self._nodes += 1
        return (
            self._nodes <= MAX_NODES and self._depth <= MAX_DEPTH * 2 and members <= MAX_PROPERTIES
        )

    def compile(self) -> Callable[[Any], Any]:
        """The function."""
        text = "\n".join([*self._lines, f"    {self._result}"])
        scope = dict(self._scope)
        exec(compile(text, "<schema>", "exec"), scope)  # of the user's only quoted names
        run: Callable[[Any], Any] = scope["run"]
        return run


def is_plain_object(node: Node) -> bool:
    """Whether a node allows objects alone, by members that are declared or by a map."""
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
