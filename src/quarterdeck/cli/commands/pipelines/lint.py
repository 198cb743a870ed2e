"""`quarterdeck pipelines lint`: check pipelines in files."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError
from quarterdeck.cli.flags import Json
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument

_STDIN = "-"


def lint(
    files: Annotated[
        list[str], Argument(metavar="FILE", help="File, folder, or - for standard input.")
    ],
    json: Json = False,
) -> int:
    """Check manifests, Alloy and OpenTelemetry configuration without a cluster or a server."""
    from quarterdeck.operators.pipelines import lint as linter

    found = [linter.lint(name, _read(name)) for name in _list_files(files)]
    count = sum(each.pipelines for each in found)
    problems = [problem for each in found for problem in each.problems]
    errors = sum(each.is_error for each in problems)
    if not count and not errors:
        raise CommandError("no pipelines found in the given files", REFUSED)
    counted = "1 pipeline" if count == 1 else f"{count} pipelines"
    total = f"{counted} checked, {'1 error' if errors == 1 else f'{errors} errors'}"
    result = {
        "pipelines": count,
        "errors": errors,
        "problems": [
            {"place": each.place, "message": each.message, "isError": each.is_error}
            for each in problems
        ],
    }
    print_result(result, "\n".join([*map(str, problems), total]), as_json=json)
    return FAILED if errors else OK


COMMAND = Command(lint)


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == _STDIN else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror or error}", REFUSED) from error


def _list_files(names: Sequence[str]) -> Iterator[str]:
    """The files, including the files of folders."""
    from quarterdeck.operators.pipelines.lint import ALLOY_ENDINGS, YAML_ENDINGS

    for name in names:
        path = Path(name)
        if name != _STDIN and path.is_dir():
            for each in sorted(path.rglob("*")):
                if each.suffix in (*ALLOY_ENDINGS, *YAML_ENDINGS) and each.is_file():
                    yield str(each)
        else:
            yield name
