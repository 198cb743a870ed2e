"""Errors and warnings about a pipeline's contents."""

import enum

import msgspec


class Severity(enum.StrEnum):
    """The severity of a finding; an error stops the pipeline."""

    ERROR = "error"
    WARNING = "warning"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An error or a warning about a configuration; line 0 means the whole of it."""

    severity: Severity = Severity.ERROR
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.message}"


def select_errors(findings: list[Finding]) -> list[Finding]:
    """Select the findings that stop a pipeline."""
    return [each for each in findings if each.severity is Severity.ERROR]
