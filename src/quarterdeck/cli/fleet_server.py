"""The fleet server that a command talks to: its options, its address, and a client of it."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.operators.pipelines.address import Address
    from quarterdeck.operators.pipelines.drivers.connect import ConnectClient

Url = Annotated[
    str, Option("--url", metavar="URL", help="Fleet server (default: FLEET_MANAGEMENT_BASE_URL).")
]
Username = Annotated[
    str, Option("--username", metavar="NAME", help="User (default: FLEET_MANAGEMENT_USERNAME).")
]
PasswordFile = Annotated[
    str,
    Option(
        "--password-file",
        metavar="PATH",
        help="File with password or token (default: FLEET_MANAGEMENT_PASSWORD).",
    ),
]


def find_address(
    url: str, username: str, password_file: str, *, environment: Mapping[str, str]
) -> "Address":
    """The address of the fleet server, from options and environment.

    Raises:
        InvalidAddress: if something is missing or cannot be used.
    """
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


@contextlib.asynccontextmanager
async def open_fleet(address: "Address") -> "AsyncIterator[ConnectClient]":
    """A client of a fleet server."""
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
    from quarterdeck.operators.pipelines.drivers.http_client import create_http_client
    from quarterdeck.operators.pipelines.drivers.limiter import Limiter

    clock = SystemClock()
    async with create_http_client(address) as client:
        yield ConnectClient(
            address.url,
            username=address.username,
            password=address.password,
            client=client,
            limiter=Limiter(address.rate, address.burst, clock=clock),
            clock=clock,
        )
