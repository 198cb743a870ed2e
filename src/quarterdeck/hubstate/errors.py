"""What can go wrong with the hub's state.

HubStateError
├── StoreUnavailable     no answer; the same call may work later
├── StoreRefused         the store answered and refused: full, read-only, wrong type
├── HistoryUnavailable   the history back end does not answer; the same call may work later
└── HistoryRefused       the history back end never takes these samples
"""


class HubStateError(Exception):
    """Root of everything this package raises."""


class StoreUnavailable(HubStateError):
    """Raised when the state store cannot be reached; nothing was written, or all of it was."""


class StoreRefused(HubStateError):
    """Raised when the state store answered with an error; nothing was written."""


class HistoryUnavailable(HubStateError):
    """Raised when the history back end does not answer, or cannot serve the call now."""


class HistoryRefused(HubStateError):
    """Raised when samples can never be stored; sending them again is useless."""

    def __init__(self, message: str, *, count: int) -> None:
        super().__init__(message)
        self.count = count
        """How many of the samples were refused; the others are stored."""
