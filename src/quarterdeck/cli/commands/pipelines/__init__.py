"""`quarterdeck pipelines lint|import`: pipelines in files, and those a server has already."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quarterdeck.cli.loop import FAILED, INTERRUPTED, OK, REFUSED, complain, run_loop

if TYPE_CHECKING:
    from quarterdeck.operators.pipelines.connections import Address
    from quarterdeck.operators.pipelines.importing import Imported

_STDIN = "-"


def run(arguments: list[str]) -> int:
    """Run a sub-command; 0 if all is well, 1 if something was found, 2 for bad usage."""
    options = make_parser().parse_args(arguments)
    try:
        return _lint(options.files) if options.command == "lint" else _import(options)
    except KeyboardInterrupt:
        complain("pipelines", "interrupted")
        return INTERRUPTED


def make_parser() -> argparse.ArgumentParser:
    """The sub-commands and their flags."""
    parser = argparse.ArgumentParser(
        prog="quarterdeck pipelines", description="Check pipelines, and import existing ones."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lint = commands.add_parser(
        "lint",
        help="check manifests, Alloy and OpenTelemetry configuration",
        description="Check everything that can be checked without a cluster or a server.",
    )
    lint.add_argument("files", nargs="+", metavar="FILE", help="file, folder, or - for stdin")
    importing = commands.add_parser(
        "import",
        help="write manifests for the pipelines a server has",
        description=(
            "Print manifests that adopt what exists on a server, ready for kubectl apply. "
            "Credentials come from FLEET_MANAGEMENT_BASE_URL, _USERNAME and _PASSWORD."
        ),
    )
    importing.add_argument("--url", metavar="URL", help="server, instead of the environment's")
    importing.add_argument("--username", metavar="NAME", help="user, instead of the environment's")
    importing.add_argument(
        "--password-file", metavar="PATH", help="file with the password or token"
    )
    importing.add_argument(
        "--namespace", "-n", default="default", metavar="NAME", help="of the manifests"
    )
    importing.add_argument("--output-dir", "-d", metavar="DIR", help="one file each, not stdout")
    importing.add_argument(
        "--read-only", action="store_true", help="mirror the pipelines instead of adopting them"
    )
    importing.add_argument(
        "--all", action="store_true", help="also what another operator manages already"
    )
    return parser


# --- lint


def _lint(names: Sequence[str]) -> int:
    from quarterdeck.operators.pipelines.lint import lint

    errors = count = 0
    for name in _files(names):
        try:
            data = sys.stdin.buffer.read() if name == _STDIN else Path(name).read_bytes()
        except OSError as error:
            complain("pipelines lint", f"cannot read {name}: {error.strerror or error}")
            return REFUSED
        found = lint(name, data)
        count += found.pipelines
        errors += sum(1 for each in found.problems if each.is_error)
        for problem in found.problems:
            print(problem)
    if not count and not errors:
        complain("pipelines lint", "there is no pipeline in these files")
        return REFUSED
    counted = "1 pipeline" if count == 1 else f"{count} pipelines"
    print(f"{counted} checked, {'1 error' if errors == 1 else f'{errors} errors'}")
    return FAILED if errors else OK


def _files(names: Sequence[str]) -> Iterator[str]:
    """The files, those of folders included."""
    from quarterdeck.operators.pipelines.lint import ALLOY_ENDINGS, YAML_ENDINGS

    for name in names:
        path = Path(name)
        if name != _STDIN and path.is_dir():
            for each in sorted(path.rglob("*")):
                if each.suffix in (*ALLOY_ENDINGS, *YAML_ENDINGS) and each.is_file():
                    yield str(each)
        else:
            yield name


# --- import


def _import(options: argparse.Namespace) -> int:
    from quarterdeck.operators.pipelines.connections import BadAddress
    from quarterdeck.operators.pipelines.ports import CallFailed, Paused

    try:
        address = _address(options, os.environ)
        imported = run_loop(_read(address, options), fast=False)
        _write(imported, options.output_dir)
    except BadAddress as error:
        complain("pipelines import", error)
        return REFUSED
    except (CallFailed, Paused) as error:
        complain("pipelines import", f"{address.url}: {error}")
        return FAILED
    except OSError as error:
        complain("pipelines import", f"{error.filename}: {error.strerror}")
        return REFUSED
    return OK


def _address(options: argparse.Namespace, environment: Mapping[str, str]) -> "Address":
    from quarterdeck.operators.pipelines.connections import (
        BASE_URL,
        PASSWORD,
        USERNAME,
        BadAddress,
        incomplete,
        settings_of,
    )

    given = {BASE_URL: options.url, USERNAME: options.username}
    values = {**environment, **{name: value for name, value in given.items() if value}}
    if options.password_file:
        values[PASSWORD] = Path(options.password_file).read_text().strip()
    address = settings_of(values)
    if address is None:
        missing = ", ".join(incomplete(values))
        raise BadAddress(f"set {missing}, or use --url, --username and --password-file")
    return address


async def _read(address: "Address", options: argparse.Namespace) -> "Imported":
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
    from quarterdeck.operators.pipelines.drivers.limiter import Limiter
    from quarterdeck.operators.pipelines.fleets import http_client
    from quarterdeck.operators.pipelines.importing import manifests

    clock = SystemClock()
    async with http_client(address) as client:
        fleet = ConnectClient(
            address.url,
            username=address.username,
            password=address.password,
            client=client,
            limiter=Limiter(address.rate, address.burst, clock=clock),
            clock=clock,
        )
        pipelines = await fleet.list()
    return manifests(
        pipelines,
        namespace=options.namespace,
        read_only=options.read_only,
        everything=options.all,
    )


def _write(imported: "Imported", folder: str | None) -> None:
    from quarterdeck.kit import yaml

    for line in imported.skipped:
        complain("pipelines import", f"left out {line}")
    if not folder:
        print(yaml.dump_all(imported.manifests), end="")
        return
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for document in imported.manifests:
        path = place / f"{document['metadata']['name']}.yaml"
        path.write_text(yaml.dump(document))
        print(path)
