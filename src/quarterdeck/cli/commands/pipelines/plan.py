"""`quarterdeck pipelines plan`: which collectors would notice a change, before it is applied."""

import enum
import os
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.fleet_server import PasswordFile, Url, Username, find_address, open_fleet
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quarterdeck.operators.pipelines.blast_radius import Impact, Planned
    from quarterdeck.operators.pipelines.ports import RemoteCollector


class PlanForm(enum.StrEnum):
    """How a plan is printed."""

    TEXT = "text"
    JSON = "json"


async def plan(
    files: Annotated[
        list[str], Argument(metavar="FILE", help="File, folder, or - for standard input.")
    ],
    url: Url = "",
    username: Username = "",
    password_file: PasswordFile = "",
    collector: Annotated[
        str, Option("--collector", metavar="ID", help="Show the diff of this collector.")
    ] = "",
    output: Annotated[PlanForm, Option("--output", "-o", help="Output format.")] = PlanForm.TEXT,
) -> None:
    """Print which collectors gain, lose or change a pipeline if these manifests are applied."""
    from quarterdeck.cli import manifest_files
    from quarterdeck.operators.pipelines.address import InvalidAddress
    from quarterdeck.operators.pipelines.blast_radius import Planned, plan_impact
    from quarterdeck.operators.pipelines.manifests import ManifestError, read_planned
    from quarterdeck.operators.pipelines.ports import CallFailed, Paused

    try:
        given = manifest_files.read_files(files, flag="FILE")
        planned = [each for name, data in given for each in read_planned(name, data)]
        address = find_address(url, username, password_file, environment=os.environ)
        async with open_fleet(address) as fleet:
            before = [Planned.of(each) for each in await fleet.list()]
            collectors = await fleet.list_collectors()
    except (InvalidAddress, ManifestError) as error:
        raise CommandError(str(error), REFUSED) from error
    except (CallFailed, Paused) as error:
        raise CommandError(f"{address.url}: {error}", FAILED) from error
    if not planned:
        raise CommandError("no pipelines found in the given files", REFUSED)
    after = {**{each.name: each for each in before}, **{each.name: each for each in planned}}
    impact = plan_impact(collectors, before, after.values())
    shown = _choose_collector(collectors, impact, collector)
    _print(impact, _diff(shown, before, list(after.values())), output=output)


COMMAND = Command(plan)


def _choose_collector(
    collectors: "Sequence[RemoteCollector]", impact: "Impact", wanted: str
) -> "RemoteCollector | None":
    """The collector whose configuration is shown: the one asked for, else the first affected."""
    by_id = {each.id: each for each in collectors}
    if wanted:
        if wanted not in by_id:
            raise CommandError(f"collector {wanted!r} is not registered (--collector)", REFUSED)
        return by_id[wanted]
    return by_id[impact.affected[0]] if impact.affected else None


def _diff(
    collector: "RemoteCollector | None", before: "list[Planned]", after: "list[Planned]"
) -> str:
    from quarterdeck.operators.pipelines.blast_radius import diff_config

    return diff_config(collector, before, after) if collector is not None else ""


def _print(impact: "Impact", diff: str, *, output: PlanForm) -> None:
    if output is PlanForm.JSON:
        from quarterdeck.kit import json

        pipelines = [each._asdict() for each in impact.pipelines]
        document = {**impact._asdict(), "pipelines": pipelines, "diff": diff}
        print(json.encode(document).decode())
        return
    for each in impact.pipelines:
        print(f"{each.name}: {each.gain} gain, {each.lose} lose, {each.change} change")
    print(impact)
    if diff:
        print(f"\n{diff}")
