"""`quarterdeck machines template import`: a disk image becomes a template for local QEMU."""

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace
from quarterdeck.cli.parameters import Argument, Option

_GIB = 1024**3


async def import_image(
    image: Annotated[str, Argument(metavar="IMAGE", help="Disk image, such as debian.qcow2.")],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the template.")] = "",
    cluster: Annotated[
        str, Option("--cluster", metavar="NAME", help="HypervisorCluster of the template.")
    ] = "local",
    cpu: Annotated[int, Option("--cpu", metavar="N", help="Processors.", minimum=1)] = 1,
    memory: Annotated[str, Option("--memory", metavar="SIZE", help="Memory.")] = "1Gi",
    disk: Annotated[
        str, Option("--disk", metavar="SIZE", help="Disk (default: that of the image).")
    ] = "",
    user: Annotated[str, Option("--user", metavar="NAME", help="User that may log in.")] = "",
    ssh_key: Annotated[
        str, Option("--ssh-key", metavar="PATH", help="Public key that may log in.")
    ] = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Make a HypervisorMachineTemplate whose machines are overlays on a disk image."""
    from quarterdeck.app import definitions

    path = find_image(image)
    size = await asyncio.to_thread(read_size, path)
    spec: dict[str, Any] = {
        "hypervisorClusterRef": {"name": cluster},
        "template": {"libvirt": {"image": str(path)}},
        "resources": {"cpu": cpu, "memory": memory, "disk": disk or f"{-(-size // _GIB)}Gi"},
        "bootstrap": {"method": "none"},
    }
    if ssh_key or user:
        keys = [read_key(ssh_key)] if ssh_key else []
        spec["cloudInit"] = {"sshAuthorizedKeys": keys, **({"user": user} if user else {})}
    async with connect(kubeconfig, context) as client:
        name = name or path.stem.lower().replace("_", "-")
        document: dict[str, Any] = {
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
            "kind": "HypervisorMachineTemplate",
            "metadata": {"name": name, "namespace": namespace or client.namespace},
            "spec": spec,
        }
        await definitions.apply(client.raw, [document])
    print(f"hypervisormachinetemplate/{name} applied")


COMMAND = Command(import_image)


def find_image(name: str) -> Path:
    """The absolute path of an image: machines are made by another process."""
    return Path(name).expanduser().resolve()


def read_key(name: str) -> str:
    """The text of a public key."""
    return Path(name).expanduser().read_text().strip()


def read_size(path: Path) -> int:
    """Bytes of the disk that an image holds.

    Raises:
        CommandError: if it is no image.
    """
    import msgspec

    if not path.is_file():
        raise CommandError(f"there is no file {path}", REFUSED)
    program = shutil.which("qemu-img")
    if program is None:
        raise CommandError("there is no qemu-img program; install qemu-utils", REFUSED)
    done = subprocess.run(
        [program, "info", "--output", "json", str(path)], capture_output=True, check=False
    )
    if done.returncode:
        raise CommandError(f"{path} is no disk image: {done.stderr.decode().strip()}", REFUSED)
    size: int = msgspec.json.decode(done.stdout)["virtual-size"]
    return size
