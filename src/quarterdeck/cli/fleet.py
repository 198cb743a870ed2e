"""`quarterdeck fleet`: the fleet server alone."""

import argparse
from pathlib import Path

from quarterdeck.cli.loop import INTERRUPTED, OK, REFUSED, complain, run_loop


def run(arguments: list[str]) -> int:
    """Serve until a signal; 0 after a clean end, 2 if it cannot start."""
    options = make_parser().parse_args(arguments)
    from quarterdeck.app.failures import StartError
    from quarterdeck.app.fleet import FleetSettings, serve_fleet
    from quarterdeck.app.stopping import Interrupted

    settings = FleetSettings(
        data_dir=Path(options.data_dir),
        in_memory=options.in_memory,
        host=options.host,
        port=options.port,
    )
    try:
        run_loop(serve_fleet(settings, say=_say))
    except StartError as error:
        complain("fleet", error)
        return REFUSED
    except (Interrupted, KeyboardInterrupt) as error:
        complain("fleet", str(error) or "interrupted")
        return INTERRUPTED
    return OK


def _say(line: str) -> None:
    print(line, flush=True)


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
        type=_port,
        default=8089,
        metavar="N",
        help="0 for any free one (default: %(default)s)",
    )
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return int(text)
