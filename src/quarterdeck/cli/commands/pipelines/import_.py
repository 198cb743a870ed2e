"""`quarterdeck pipelines import`: manifests for the pipelines of a fleet server."""

import os
from pathlib import Path
from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError, print_error
from quarterdeck.cli.flags import Form, Json
from quarterdeck.cli.fleet_server import PasswordFile, Url, Username, find_address, open_fleet
from quarterdeck.cli.output import format_documents, format_pretty
from quarterdeck.cli.parameters import Option


async def import_pipelines(
    url: Url = "",
    username: Username = "",
    password_file: PasswordFile = "",
    namespace: Annotated[
        str, Option("--namespace", "-n", metavar="NAME", help="Namespace of the manifests.")
    ] = "default",
    output_dir: Annotated[
        str,
        Option(
            "--output-dir",
            "-d",
            metavar="DIR",
            help="Write one file per pipeline to this folder (default: standard output).",
        ),
    ] = "",
    read_only: Annotated[
        bool, Option("--read-only", help="Only observe the pipelines, never change them.")
    ] = False,
    everything: Annotated[
        bool, Option("--all", help="Include pipelines that another operator manages.")
    ] = False,
    json: Json = False,
) -> None:
    """Print manifests that adopt the pipelines of a fleet server, ready for kubectl apply."""
    from quarterdeck.operators.pipelines.address import InvalidAddress
    from quarterdeck.operators.pipelines.importer import build_manifests
    from quarterdeck.operators.pipelines.ports import CallFailed, Paused

    try:
        address = find_address(url, username, password_file, environment=os.environ)
        async with open_fleet(address) as fleet:
            pipelines = await fleet.list()
    except InvalidAddress as error:
        raise CommandError(str(error), REFUSED) from error
    except (CallFailed, Paused) as error:
        raise CommandError(f"{address.url}: {error}", FAILED) from error
    imported = build_manifests(
        pipelines, namespace=namespace, read_only=read_only, everything=everything
    )
    for line in imported.skipped:
        print_error("quarterdeck pipelines import", f"skipped {line}")
    _write(imported.manifests, output_dir, as_json=json)


COMMAND = Command(import_pipelines)


def _write(manifests: list[dict[str, Any]], folder: str, *, as_json: bool) -> None:
    from quarterdeck.kit import yaml

    if not folder:
        print(
            format_documents(manifests, Form.JSON) if as_json else yaml.dump_all(manifests).rstrip()
        )
        return
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for document in manifests:
            path = place / f"{document['metadata']['name']}.{'json' if as_json else 'yaml'}"
            path.write_text(format_pretty(document) if as_json else yaml.dump(document))
            print(path)
    except OSError as error:
        raise CommandError(
            f"cannot write to {place} (--output-dir): {error.strerror or error}", REFUSED
        ) from error
