"""`quarterdeck up`: everything in one process, on this machine."""

import sys

from quarterdeck.app.resolution import DEFAULT, EffectiveSettings
from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.loop import run_loop


def up(effective: EffectiveSettings, started: StartTime) -> None:
    """Run the API server and every operator, on loopback, until a signal."""
    from quarterdeck.kit.gc_tuning import pause_gc

    with pause_gc():
        _up(effective, started)


def _up(effective: EffectiveSettings, started: StartTime) -> None:
    from quarterdeck.app.all_in_one import up as run_up
    from quarterdeck.app.console import Console
    from quarterdeck.runtime.observability import logging

    settings = effective.settings
    # the console shows what happens; the log adds only what needs attention
    level = "warning" if effective.origins["log_level"] == DEFAULT else settings.log_level
    logging.configure(level, form=settings.log_format or None)
    console = Console(sys.stdout)
    run_loop(
        run_up(settings, part_settings=effective.part_settings, console=console, started=started)
    )


COMMAND = Command(up, settings="up")
