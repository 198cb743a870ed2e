"""Errors of the fleet server, with Connect codes."""

from quarterdeck.telemetry.fleet.codes import Code


class FleetError(Exception):
    """Raised when a call cannot be carried out; becomes a Connect error."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> FleetError:
    """Build the error for invalid input."""
    return FleetError(Code.INVALID_ARGUMENT, message)


def not_found(kind: str, name: str) -> FleetError:
    """Build the error for an object that does not exist."""
    return FleetError(Code.NOT_FOUND, f"{kind} {name!r} not found")
