"""Regular expressions as Go and Kubernetes mean them: RE2, linear time, no look-around.

The only module that imports `re2`, and it does so when the first pattern is compiled.
"""

import functools
from typing import Any

_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}
"""Go's words for problems that the C++ library words differently."""


class PatternError(ValueError):
    """Raised when a pattern is not RE2 syntax."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self._compiled = compiled

    def search(self, text: str) -> bool:
        """Whether it matches anywhere, as schema patterns and CEL's `matches` do."""
        return self._compiled.search(text) is not None

    def fullmatch(self, text: str) -> bool:
        """Whether it matches the whole text, as label matchers do."""
        return self._compiled.fullmatch(text) is not None

    def find(self, text: str) -> tuple[int, int] | None:
        """Start and end of the first match, or None."""
        found = self._compiled.search(text)
        return (found.start(), found.end()) if found is not None else None

    def find_all(self, text: str) -> list[tuple[int, int]]:
        """Start and end of every match, left to right."""
        return [(found.start(), found.end()) for found in self._compiled.finditer(text)]


@functools.lru_cache(maxsize=2048)
def compile_re2(pattern: str) -> Pattern:
    """Compile a pattern; the result is cached.

    Raises:
        PatternError: in the words of Go's regexp.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return Pattern(pattern, re2.compile(pattern, options))
    except re2.error as error:
        detail = error.args[0] if error.args else error
        text = detail.decode() if isinstance(detail, bytes) else str(detail)
        raise PatternError(_format_go_error(text)) from error


def _format_go_error(text: str) -> str:
    """An error of RE2, `problem: part of the pattern`, as Go's regexp words it."""
    problem, _, part = text.partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(problem, problem)}: `{part}`"
