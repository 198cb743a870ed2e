"""What stops a process from starting."""


class StartError(Exception):
    """Raised when something cannot start; the message is one line for the user, with the fix."""
