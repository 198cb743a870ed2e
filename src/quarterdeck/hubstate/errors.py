"""What can go wrong with the hub's state.

HubStateError
├── StoreUnavailable     no answer; the same call may work later
├── StoreRefused         the store answered and refused: full, read-only, wrong type
└── HistoryUnavailable   the history back end does not answer or refused
"""


class HubStateError(Exception):
    """Root of everything this package raises."""


class StoreUnavailable(HubStateError):
    """Raised when the state store cannot be reached; nothing was written, or all of it was."""


class StoreRefused(HubStateError):
    """Raised when the state store answered with an error; nothing was written."""


class HistoryUnavailable(HubStateError):
    """Raised when the history back end does not answer, or refuses what it was sent."""
