"""`quarterdeck machines tpm-roots`: what a template must trust to accept TPMs of local VMs."""

from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option


async def tpm_roots(
    data_dir: Annotated[
        str, Option("--data-dir", metavar="DIR", help="Folder of `up`, where local VMs are kept.")
    ] = ".quarterdeck",
) -> None:
    """Print the certificates, in PEM, of the authority that endorses TPMs of local QEMU.

    Put them into a Secret that spec.attestation.config.tpm.trustedCARefs of a template names.
    """
    from pathlib import Path

    from quarterdeck.operators.machines.drivers.qemu.folder import Folder
    from quarterdeck.operators.machines.drivers.qemu.provider import FOLDER
    from quarterdeck.operators.machines.drivers.qemu.tpm import Tpms
    from quarterdeck.operators.machines.errors import HypervisorError

    try:
        print_line((await Tpms(Folder(Path(data_dir) / FOLDER)).read_roots()).strip())
    except HypervisorError as error:
        raise CommandError(error.message, REFUSED) from error


COMMAND = Command(tpm_roots)
