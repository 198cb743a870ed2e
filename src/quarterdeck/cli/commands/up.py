"""`quarterdeck up`: everything in one process, on this machine."""

import gc
import sys

from quarterdeck.cli.loop import FAILED, INTERRUPTED, OK, REFUSED, complain, run_loop
from quarterdeck.cli.settings import effective, parser
from quarterdeck.kit.clock import SystemClock


def run(arguments: list[str]) -> int:
    """Run until a signal; 0 after a clean end."""
    started = SystemClock().monotonic()
    gc.disable()  # nothing made during the start is garbage; enabled when everything is ready
    flags = parser("up", "Run the API server and every operator, on loopback.").parse_args(
        arguments
    )
    from quarterdeck.app.all_in_one import up
    from quarterdeck.app.console import Screen
    from quarterdeck.app.errors import StartError
    from quarterdeck.app.resolution import DEFAULT, SettingError
    from quarterdeck.app.signals import Interrupted
    from quarterdeck.runtime.observability import logging

    try:
        found = effective("up", flags)
        settings = found.settings
        # people read the screen; the log joins only for what somebody should look into
        level = "warning" if found.origins["log_level"] == DEFAULT else settings.log_level
        logging.configure(level, form=settings.log_format or None)
        run_loop(up(settings, screen=Screen(sys.stdout), started=started))
    except (StartError, SettingError) as error:
        complain("up", error)
        return REFUSED
    except (Interrupted, KeyboardInterrupt) as error:
        complain("up", str(error) or "interrupted")
        return INTERRUPTED
    except Exception as error:
        if flags.debug:
            raise
        complain("up", f"{type(error).__name__}: {error}; run it with --debug to see where")
        return FAILED
    return OK
