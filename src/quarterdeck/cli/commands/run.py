"""`quarterdeck run`: the operators against a cluster."""

from quarterdeck.app.resolution import EffectiveSettings
from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, CommandError
from quarterdeck.cli.loop import run_loop


def run(effective: EffectiveSettings) -> None:
    """Run the operators against the cluster of a kubeconfig until a signal.

    Exits with 1 if the lease is lost.
    """
    from quarterdeck.kit.gc_tuning import pause_gc

    with pause_gc():
        _run(effective)


def _run(effective: EffectiveSettings) -> None:
    from quarterdeck.app.run import run as run_operators
    from quarterdeck.runtime import LostLeadership
    from quarterdeck.runtime.observability import logging

    settings = effective.settings
    logging.configure(settings.log_level, form=settings.log_format or None)
    try:
        run_loop(run_operators(settings, part_settings=effective.part_settings))
    except LostLeadership as error:
        raise CommandError(f"{error}; restart this replica to make it a standby", FAILED) from error


COMMAND = Command(run, settings="run")
