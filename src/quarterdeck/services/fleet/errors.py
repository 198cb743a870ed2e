"""What the fleet server refuses, by Connect code."""

from quarterdeck.telemetry.fleet.codes import Code


class FleetError(Exception):
    """Raised when a call cannot be carried out; becomes a Connect error."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> FleetError:
    """The caller's input is wrong."""
    return FleetError(Code.INVALID_ARGUMENT, message)


def not_found(what: str, name: str) -> FleetError:
    """The path or the object does not exist."""
    return FleetError(Code.NOT_FOUND, f"{what} {name!r} not found")
