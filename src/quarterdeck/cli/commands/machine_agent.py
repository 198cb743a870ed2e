"""`quarterdeck machine-agent`: the agent of a machine, or the file that runs it."""

import sys
from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option


def machine_agent(
    config: Annotated[
        str, Option("--config", metavar="FILE", help="Settings file written by cloud-init.")
    ] = "/etc/hyperfleet/agent.json",
    state_dir: Annotated[
        str,
        Option(
            "--state-dir",
            metavar="DIR",
            help="Folder for key and certificate; should be in memory.",
        ),
    ] = "/run/hyperfleet",
    tcti: Annotated[
        str, Option("--tcti", metavar="TCTI", help="How tpm2-tools reach the TPM.")
    ] = "",
    power_off: Annotated[
        str,
        Option(
            "--power-off",
            metavar="COMMAND",
            help="Command that powers the machine off (default: systemctl poweroff and fallbacks).",
        ),
    ] = "",
    write: Annotated[
        str,
        Option("--write", metavar="FILE", help="Write the agent as one file (zipapp) and exit."),
    ] = "",
) -> None:
    """Attest this machine to the bootstrap service, renew its certificate, follow directives."""
    if write:
        from quarterdeck.agents.machine.bundle import write_zipapp

        write_zipapp(Path(write))
        print_line(f"wrote {write}")
        return
    from quarterdeck.agents.machine.__main__ import POWER_OFF, run_agent

    sys.exit(run_agent(config, state_dir, tcti=tcti, power_off=power_off or POWER_OFF))


COMMAND = Command(machine_agent)
