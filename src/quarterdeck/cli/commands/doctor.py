"""`quarterdeck doctor`: the settings in force, their sources, and checks of this machine."""

from typing import TYPE_CHECKING

from quarterdeck.app.resolution import EffectiveSettings
from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, OK
from quarterdeck.cli.flags import ReportForm, ReportOutput
from quarterdeck.cli.loop import run_loop

if TYPE_CHECKING:
    from quarterdeck.app.doctor import Explained, Finding


def doctor(effective: EffectiveSettings, output: ReportOutput = ReportForm.TABLE) -> int:
    """Show the settings of `up` with their sources, and check this machine."""
    from quarterdeck.app.doctor import Health, check, explain, list_certificates

    settings = explain(effective, "up")
    certificates = list_certificates(effective)
    findings = run_loop(check(effective.settings, certificates), fast=False)
    _print(settings, findings, output)
    return FAILED if any(each.health is Health.BAD for each in findings) else OK


COMMAND = Command(doctor, settings="up")


def _print(settings: "list[Explained]", findings: "list[Finding]", output: ReportForm) -> None:
    from quarterdeck.cli.output import format_columns, format_report

    if output is not ReportForm.TABLE:
        document = {
            "settings": [each._asdict() for each in settings],
            "checks": [{**each._asdict(), "health": str(each.health)} for each in findings],
        }
        print(format_report(document, output))
        return
    print(format_columns([["SETTING", "VALUE", "SOURCE"], *map(list, settings)]))
    print()
    rows = [[each.what, str(each.health), each.text] for each in findings]
    print(format_columns([["CHECK", "RESULT", "DETAIL"], *rows]))
