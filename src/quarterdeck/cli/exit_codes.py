"""The exit codes of every command, and the one line that explains a failure."""

import sys

OK = 0
FAILED = 1
REFUSED = 2
INTERRUPTED = 130

MEANINGS = {
    OK: "success",
    FAILED: "the operation failed; the message gives the cause",
    REFUSED: "invalid usage or settings, or the process could not start; nothing was changed",
    INTERRUPTED: "interrupted by a signal before it was ready or finished",
}


class CommandError(Exception):
    """Raised by a command that cannot continue; the message is one line with the fix."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def print_error(prog: str, message: object) -> None:
    """Print one line on standard error."""
    text = " ".join(str(message).split())
    print(f"{prog}: {text}", file=sys.stderr)


def translate(error: BaseException) -> tuple[int, str]:
    """The exit code and the message of a failure; an empty message is not printed."""
    from quarterdeck.app.errors import Interrupted, NotConfigured, SettingError, StartError
    from quarterdeck.cli.parameters import UsageError
    from quarterdeck.client.errors import ClientError, ConnectionFailed, UntrustedServer
    from quarterdeck.kit.full_disk import is_full_disk
    from quarterdeck.meta.objects import DecodeError
    from quarterdeck.storage.errors import DiskFull
    from quarterdeck.wire.status import ApiError, Unauthorized

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case CommandError():
            return error.code, str(error)
        case UsageError() | SettingError():
            return REFUSED, str(error)
        case NotConfigured():
            return FAILED, str(error)
        case StartError():
            return REFUSED, str(error)
        case ConnectionFailed() if not isinstance(error, UntrustedServer):
            fix = "check that the server runs, or choose another with --kubeconfig or --context"
            return FAILED, f"{error}; {fix}"
        case ClientError():
            return FAILED, str(error)
        case Unauthorized():
            fix = "check the user of the kubeconfig, or choose another with --context"
            return FAILED, f"the server answered 401 Unauthorized: {error.message}; {fix}"
        case ApiError():
            message = f"the server answered {error.code} {error.reason}: {error.message}"
            return FAILED, message
        case DecodeError():
            fix = "check the address of the server and its CustomResourceDefinitions"
            return FAILED, f"the server did not answer with the expected object: {error}; {fix}"
        case KeyboardInterrupt() | Interrupted():
            return INTERRUPTED, str(error) or "interrupted"
        case BrokenPipeError():
            return OK, ""
        case _ if isinstance(error, DiskFull) or is_full_disk(error):
            where = f": {name}" if (name := getattr(error, "filename", None)) else ""
            return FAILED, f"the disk is full{where}; free space and try again"
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            return FAILED, f"{error.strerror or error}{where}"
        case _:
            return FAILED, f"{type(error).__name__}: {error}; add --debug for a traceback"
