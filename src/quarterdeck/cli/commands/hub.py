"""`quarterdeck hub`: the hub API alone, beside operators that run elsewhere."""

from quarterdeck.app.resolution import EffectiveSettings
from quarterdeck.cli.command import Command
from quarterdeck.cli.loop import run_loop


def hub(effective: EffectiveSettings) -> None:
    """Serve the hub API from the Redis and the history that `quarterdeck run` writes.

    Tokens of viewers are reviewed by the API server of the kubeconfig.
    """
    from quarterdeck.app.clusters_settings import Settings
    from quarterdeck.app.hub_process import serve_hub
    from quarterdeck.runtime.observability import logging

    settings = effective.settings
    logging.configure(settings.log_level, form=settings.log_format or None)
    own = next(each for each in effective.part_settings if isinstance(each, Settings))
    run_loop(serve_hub(settings, own))


COMMAND = Command(hub, settings="hub")
