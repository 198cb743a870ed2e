"""What a failed call means for a machine."""

from quarterdeck.operators.machines.conditions import Reason


class Failed(Exception):
    """Raised when the machine cannot be made: the claim fails, and its owner decides."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Retry(Exception):
    """Raised when a try has failed and another one follows; it counts towards the limit."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
