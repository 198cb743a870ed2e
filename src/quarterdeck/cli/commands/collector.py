"""`quarterdeck collector`: read the cluster it runs on, and push to a hub."""

import os
from pathlib import Path

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Kubeconfig
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line


def collector(context: Context = "", kubeconfig: Kubeconfig = "") -> None:
    """Read a cluster and push to the hub's ingester.

    Inside a cluster it uses its service account. The rest comes from the environment: CLUSTER_NAME,
    INGESTER_ADDRESS, COLLECTOR_TOKEN, COLLECT_INTERVAL, OPERATOR_SCAN_INTERVAL, BUFFER_SIZE,
    BUFFER_MAX_BYTES, BUFFER_DIR, INGESTER_TLS_ENABLED, INGESTER_TLS_CA, INGESTER_TLS_SERVER_NAME,
    INGESTER_TLS_CLIENT_CERT, INGESTER_TLS_CLIENT_KEY, LOG_LEVEL, LOG_FORMAT.
    """
    from quarterdeck.app.collector import run_collector
    from quarterdeck.runtime.observability import logging

    try:
        logging.configure()
    except ValueError as error:
        raise CommandError(str(error), REFUSED) from error
    path = Path(kubeconfig).expanduser() if kubeconfig else None
    run_loop(
        run_collector(dict(os.environ), kubeconfig=path, context=context, print_line=print_line)
    )


COMMAND = Command(collector)
