"""`quarterdeck fleet`: the fleet server alone."""

import argparse
from pathlib import Path

from quarterdeck.cli.serving import port, say, serve_until_signal


def run(arguments: list[str]) -> int:
    """Serve until a signal; 0 after a clean end, 2 if it cannot start."""
    options = make_parser().parse_args(arguments)
    from quarterdeck.app.fleet import FleetSettings, serve_fleet

    settings = FleetSettings(
        data_dir=Path(options.data_dir),
        in_memory=options.in_memory,
        host=options.host,
        port=options.port,
    )
    return serve_until_signal("fleet", serve_fleet(settings, say=say))


def make_parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    parser = argparse.ArgumentParser(
        prog="quarterdeck fleet",
        description=(
            "Run a Fleet Management server: pipelines for the operator, configuration for "
            "collectors. One token for everything is made beside the data."
        ),
    )
    parser.add_argument(
        "--data-dir",
        default=".quarterdeck",
        metavar="DIR",
        help="where pipelines, collectors and the token are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--in-memory", action="store_true", help="keep nothing but the token in --data-dir"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen; off loopback put TLS in front of it (default: %(default)s)",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=8089,
        metavar="N",
        help="0 for any free one (default: %(default)s)",
    )
    return parser
