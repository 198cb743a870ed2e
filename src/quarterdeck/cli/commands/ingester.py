"""`quarterdeck ingester`: collectors are served alone, beside operators that run elsewhere."""

from quarterdeck.app.resolution import EffectiveSettings
from quarterdeck.cli.command import Command
from quarterdeck.cli.loop import run_loop


def ingester(effective: EffectiveSettings) -> None:
    """Serve collectors, and write what they push to the Redis of `quarterdeck run`.

    Start the operators with --ingester-external, so that they do not serve collectors themselves.
    """
    from quarterdeck.app.clusters_settings import Settings
    from quarterdeck.app.ingester_process import serve_ingester_alone
    from quarterdeck.runtime.observability import logging

    settings = effective.settings
    logging.configure(settings.log_level, form=settings.log_format or None)
    own = next(each for each in effective.part_settings if isinstance(each, Settings))
    run_loop(serve_ingester_alone(settings, own))


COMMAND = Command(ingester, settings="ingester")
