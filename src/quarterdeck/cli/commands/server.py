"""`quarterdeck server`: the API server alone, on this machine."""

import argparse
from pathlib import Path

from quarterdeck.cli.serving import port, say, serve_until_signal
from quarterdeck.kit.clock import SystemClock

_DEFAULT_DATA_DIR = ".quarterdeck"


def run(arguments: list[str]) -> int:
    """Serve until a signal; 0 after a clean end, 2 if the server cannot start."""
    started = SystemClock().monotonic()
    options = make_parser().parse_args(arguments)
    from quarterdeck.app.api_server import ServeSettings, serve
    from quarterdeck.server.options import ServerOptions

    settings = ServeSettings(
        data_dir=None if options.in_memory else Path(options.data_dir),
        port=options.port,
        http_port=options.http_port,
        kubeconfig=Path(options.write_kubeconfig) if options.write_kubeconfig else None,
        options=ServerOptions(
            simulate_workloads=options.simulate_workloads, lifecycle=not options.no_lifecycle
        ),
    )
    return serve_until_signal("server", serve(settings, say=say, started=started))


def make_parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    parser = argparse.ArgumentParser(
        prog="quarterdeck server", description="Run the API server alone, on loopback."
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--data-dir",
        default=_DEFAULT_DATA_DIR,
        metavar="DIR",
        help="where everything is kept (default: %(default)s)",
    )
    place.add_argument("--in-memory", action="store_true", help="keep nothing")
    parser.add_argument(
        "--port",
        type=port,
        default=6443,
        metavar="N",
        help="HTTPS port, 0 for any free one (default: %(default)s)",
    )
    parser.add_argument(
        "--http-port",
        type=port,
        metavar="N",
        help="also listen on plain HTTP, on loopback, without credentials",
    )
    parser.add_argument(
        "--write-kubeconfig",
        metavar="PATH",
        help="where the kubeconfig goes (default: beside the data)",
    )
    happens = parser.add_mutually_exclusive_group()
    happens.add_argument(
        "--simulate-workloads",
        action="store_true",
        help="pretend that pods run: they become ready without any kubelet",
    )
    happens.add_argument(
        "--no-lifecycle",
        action="store_true",
        help="no garbage collection and namespace termination",
    )
    return parser
