"""What can go wrong with an expression.

CelError
├── CompileError      the text is not a valid expression of its environment; carries every issue
└── EvaluationError   a value could not be computed
    └── BudgetExceeded    it cost more than it may
"""

from collections.abc import Sequence

import msgspec

_MAX_REPORTED = 100
_MAX_SNIPPET = 16384
_WIDE_DOT, _WIDE_MARK = "\uff0e", "\uff3e"


class CelError(Exception):
    """Raised when an expression cannot be compiled or evaluated; root of this layer."""


class Issue(msgspec.Struct, frozen=True):
    """One problem in the source; line and column count from 1."""

    line: int
    column: int
    message: str


class CompileError(CelError):
    """Raised when an expression is not valid; `str()` shows each issue with its line marked."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.source = source
        self.issues = tuple(sorted(issues, key=lambda issue: (issue.line, issue.column)))
        super().__init__(_format_issues(source, self.issues))


class EvaluationError(CelError):
    """Raised when an expression has no value: missing key, overflow, no such overload, …"""


class BudgetExceeded(EvaluationError):
    """Raised when an evaluation reaches its cost limit."""

    def __init__(self, message: str = "operation cancelled: actual cost limit exceeded") -> None:
        super().__init__(message)


def _format_issues(source: str, issues: Sequence[Issue]) -> str:
    lines = source.split("\n")
    shown = [_format_issue(lines, issue) for issue in issues[:_MAX_REPORTED]]
    if len(issues) > _MAX_REPORTED:
        shown.append(f"{len(issues) - _MAX_REPORTED} more errors were truncated")
    return "\n".join(shown)


def _format_issue(lines: Sequence[str], issue: Issue) -> str:
    text = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.message}"
    if not 1 <= issue.line <= len(lines):
        return text
    snippet = lines[issue.line - 1].replace("\t", " ")
    if len(snippet) > _MAX_SNIPPET:
        return text
    before = snippet[: issue.column - 1]
    marks = "".join("." if character < "\x80" else _WIDE_DOT for character in before)
    at = snippet[issue.column - 1 : issue.column]
    return f"{text}\n | {snippet}\n | {marks}{_WIDE_MARK if at > chr(127) else '^'}"
