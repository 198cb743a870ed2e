"""`quarterdeck pipelines import`: manifests for the pipelines of a fleet server."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError, print_error
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.operators.pipelines.address import Address
    from quarterdeck.operators.pipelines.ports import Remote


async def import_pipelines(
    url: Annotated[
        str,
        Option("--url", metavar="URL", help="Fleet server (default: FLEET_MANAGEMENT_BASE_URL)."),
    ] = "",
    username: Annotated[
        str,
        Option("--username", metavar="NAME", help="User (default: FLEET_MANAGEMENT_USERNAME)."),
    ] = "",
    password_file: Annotated[
        str,
        Option(
            "--password-file",
            metavar="PATH",
            help="File with password or token (default: FLEET_MANAGEMENT_PASSWORD).",
        ),
    ] = "",
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
) -> None:
    """Print manifests that adopt the pipelines of a fleet server, ready for kubectl apply."""
    from quarterdeck.operators.pipelines.address import InvalidAddress
    from quarterdeck.operators.pipelines.importer import build_manifests
    from quarterdeck.operators.pipelines.ports import CallFailed, Paused

    try:
        address = _find_address(url, username, password_file, environment=os.environ)
        pipelines = await _list_pipelines(address)
    except InvalidAddress as error:
        raise CommandError(str(error), REFUSED) from error
    except (CallFailed, Paused) as error:
        raise CommandError(f"{address.url}: {error}", FAILED) from error
    imported = build_manifests(
        pipelines, namespace=namespace, read_only=read_only, everything=everything
    )
    for line in imported.skipped:
        print_error("quarterdeck pipelines import", f"skipped {line}")
    _write(imported.manifests, output_dir)


COMMAND = Command(import_pipelines)


def _find_address(
    url: str, username: str, password_file: str, *, environment: Mapping[str, str]
) -> "Address":
    from quarterdeck.operators.pipelines.address import (
        BASE_URL,
        PASSWORD,
        USERNAME,
        InvalidAddress,
        list_missing_variables,
        read_environment,
    )

    given = {BASE_URL: url, USERNAME: username}
    values = {**environment, **{name: value for name, value in given.items() if value}}
    if password_file:
        values[PASSWORD] = _read_password(password_file)
    address = read_environment(values)
    if address is None:
        missing = ", ".join(list_missing_variables(values))
        raise InvalidAddress(f"set {missing}, or use --url, --username and --password-file")
    return address


def _read_password(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise CommandError(
            f"cannot read {path} (--password-file): {error.strerror or error}", REFUSED
        ) from error


async def _list_pipelines(address: "Address") -> "Sequence[Remote]":
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
    from quarterdeck.operators.pipelines.drivers.limiter import Limiter
    from quarterdeck.operators.pipelines.fleets import create_http_client

    clock = SystemClock()
    async with create_http_client(address) as client:
        fleet = ConnectClient(
            address.url,
            username=address.username,
            password=address.password,
            client=client,
            limiter=Limiter(address.rate, address.burst, clock=clock),
            clock=clock,
        )
        return await fleet.list()


def _write(manifests: list[dict[str, Any]], folder: str) -> None:
    from quarterdeck.kit import yaml

    if not folder:
        print(yaml.dump_all(manifests), end="")
        return
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for document in manifests:
            path = place / f"{document['metadata']['name']}.yaml"
            path.write_text(yaml.dump(document))
            print(path)
    except OSError as error:
        raise CommandError(
            f"cannot write to {place} (--output-dir): {error.strerror or error}", REFUSED
        ) from error
