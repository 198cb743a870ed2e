"""What stops a process from starting."""


class StartError(Exception):
    """Raised when something cannot start; the message is one line for the user, with the fix."""


class NotConfigured(StartError):
    """Raised when an operator was asked for by name and lacks what only its user can give."""
