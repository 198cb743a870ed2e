"""`quarterdeck doctor`: which settings are in force and why, and what could be in the way."""

import argparse

from quarterdeck.cli.loop import FAILED, OK, REFUSED, complain, run_loop
from quarterdeck.cli.settings import effective, parser


def run(arguments: list[str]) -> int:
    """Explain and check; 1 if something is in the way."""
    made = parser("up", "Explain the settings in force and check this machine.")
    made.prog = "quarterdeck doctor"
    made.add_argument(
        "--output", "-o", choices=("table", "json"), default="table", help="how to print"
    )
    flags = made.parse_args(arguments)
    from quarterdeck.app.resolution import SettingError

    try:
        return _report(flags)
    except SettingError as error:
        complain("doctor", error)
        return REFUSED


def _report(flags: argparse.Namespace) -> int:
    from quarterdeck.app.doctor import Health, check, explain
    from quarterdeck.cli.output import columns, pretty

    found = effective("up", flags)
    settings = explain(found, "up")
    findings = run_loop(check(found.settings), fast=False)
    is_bad = any(each.health is Health.BAD for each in findings)
    if flags.output == "json":
        document = {
            "settings": [each._asdict() for each in settings],
            "checks": [{**each._asdict(), "health": str(each.health)} for each in findings],
        }
        print(pretty(document))
    else:
        print(columns([["SETTING", "VALUE", "FROM"], *map(list, settings)]))
        print()
        rows = [[each.what, str(each.health), each.text] for each in findings]
        print(columns([["CHECK", "", "FOUND"], *rows]))
    return FAILED if is_bad else OK
