"""`quarterdeck new`: a project for an operator of one's own."""

from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option


def new(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the project, such as database.")],
    kind: Annotated[
        str, Option("--kind", metavar="KIND", help="Kind it is for (default: from the name).")
    ] = "",
    group: Annotated[
        str, Option("--group", metavar="DOMAIN", help="API group of the kind.")
    ] = "example.com",
    folder: Annotated[
        str, Option("--folder", metavar="DIR", help="Folder to write to (default: the name).")
    ] = "",
    json: Json = False,
) -> None:
    """Make a project: kind, reconciler, tests, definition, role, image, chart.

    Its tests pass as it is: `cd NAME && pytest`.
    """
    from quarterdeck.app.scaffold import choose_names, write_project

    names = choose_names(name, kind=kind, group=group)
    place = Path(folder or name)
    written = write_project(place, names)
    lines = [f"created {path}" for path in written]
    lines.append(f"\n  cd {place}\n  quarterdeck dev {names.module}.py\n  pytest")
    result = {"folder": str(place), "files": [str(each) for each in written]}
    print_result(result, "\n".join(lines), as_json=json)


COMMAND = Command(new)
