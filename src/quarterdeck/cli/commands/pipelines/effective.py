"""`quarterdeck pipelines effective`: the merged configuration of one collector."""

import os
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import Json
from quarterdeck.cli.fleet_server import PasswordFile, Url, Username, find_address, open_fleet
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument


async def effective(
    collector: Annotated[str, Argument(metavar="COLLECTOR", help="Id of the collector.")],
    url: Url = "",
    username: Username = "",
    password_file: PasswordFile = "",
    json: Json = False,
) -> None:
    """Print the configuration that a collector gets from the pipelines of a fleet server.

    Collectors that a rollout chose get its candidate instead, which is not shown.
    """
    from quarterdeck.operators.pipelines.address import InvalidAddress
    from quarterdeck.operators.pipelines.blast_radius import Planned, merge_config
    from quarterdeck.operators.pipelines.ports import CallFailed, Paused

    try:
        address = find_address(url, username, password_file, environment=os.environ)
        async with open_fleet(address) as fleet:
            found = await fleet.get_collector(collector)
            pipelines = [Planned.of(each) for each in await fleet.list()]
    except InvalidAddress as error:
        raise CommandError(str(error), REFUSED) from error
    except (CallFailed, Paused) as error:
        raise CommandError(f"{address.url}: {error}", FAILED) from error
    if found is None:
        raise CommandError(f"collector {collector!r} is not registered", REFUSED)
    merged = merge_config(found, pipelines)
    print_result(
        {"collector": collector, "config": merged}, merged.removesuffix("\n"), as_json=json
    )


COMMAND = Command(effective)
