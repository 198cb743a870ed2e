"""`quarterdeck run`: the operators against a cluster."""

from quarterdeck.cli.loop import FAILED, INTERRUPTED, OK, REFUSED, complain, run_loop
from quarterdeck.cli.settings import effective, parser


def run(arguments: list[str]) -> int:
    """Run until a signal; 0 after a clean end, 1 when the lease is lost."""
    flags = parser("run", "Run the operators against the cluster of a kubeconfig.").parse_args(
        arguments
    )
    from quarterdeck.app.errors import NotConfigured, StartError
    from quarterdeck.app.resolution import SettingError
    from quarterdeck.app.run import run as run_operators
    from quarterdeck.app.signals import Interrupted
    from quarterdeck.client.errors import ClientError
    from quarterdeck.runtime import LostLeadership
    from quarterdeck.runtime.observability import logging

    try:
        settings = effective("run", flags).settings
        logging.configure(settings.log_level, form=settings.log_format or None)
        run_loop(run_operators(settings))
    except NotConfigured as error:
        complain("run", error)
        return FAILED
    except (StartError, SettingError, ClientError) as error:
        complain("run", error)
        return REFUSED
    except (Interrupted, KeyboardInterrupt) as error:
        complain("run", str(error) or "interrupted")
        return INTERRUPTED
    except LostLeadership as error:
        complain("run", f"{error}; whoever holds the lease works now, start again to stand by")
        return FAILED
    except Exception as error:
        if flags.debug:
            raise
        complain("run", f"{type(error).__name__}: {error}; run it with --debug to see where")
        return FAILED
    return OK
