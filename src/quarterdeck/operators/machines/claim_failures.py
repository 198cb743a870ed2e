"""Exceptions of the steps of a claim: fail the claim, or try the step again."""

from quarterdeck.operators.machines.conditions import Reason


class Failed(Exception):
    """Raised when the machine cannot be made or is lost; the claim gets the phase Failed."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Retry(Exception):
    """Raised when a step failed and is tried again; counts towards `MOST_ATTEMPTS`."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
