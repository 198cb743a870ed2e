"""`quarterdeck machines template import`: a disk image becomes a template for local QEMU."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.operators.machines.drivers.qemu.folder import Boot
    from quarterdeck.operators.machines.drivers.qemu.images import Image

_GIB = 1024**3


class BootFlags(NamedTuple):
    """How a machine boots an image that has no boot loader."""

    kernel: Annotated[
        str, Option("--kernel", metavar="PATH", help="Kernel, for an image without a boot loader.")
    ] = ""
    initrd: Annotated[
        str, Option("--initrd", metavar="PATH", help="Initial RAM disk of the kernel.")
    ] = ""
    command_line: Annotated[
        str, Option("--command-line", metavar="TEXT", help="Command line of the kernel.")
    ] = ""


class MachineFlags(NamedTuple):
    """What the machines of the template are like."""

    cluster: Annotated[
        str, Option("--cluster", metavar="NAME", help="HypervisorCluster of the template.")
    ] = "local"
    cpu: Annotated[int, Option("--cpu", metavar="N", help="Number of processors.", minimum=1)] = 1
    memory: Annotated[str, Option("--memory", metavar="SIZE", help="Size of the memory.")] = "1Gi"
    disk: Annotated[
        str, Option("--disk", metavar="SIZE", help="Size of the disk (default: that of the image).")
    ] = ""
    user: Annotated[str, Option("--user", metavar="NAME", help="User that may log in.")] = ""
    ssh_key: Annotated[
        str, Option("--ssh-key", metavar="PATH", help="Public key that may log in.")
    ] = ""


async def import_image(
    image: Annotated[str, Argument(metavar="IMAGE", help="Disk image, such as debian.qcow2.")],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the template.")] = "",
    boot: BootFlags = BootFlags(),  # noqa: B008  # a frozen tuple
    machine: MachineFlags = MachineFlags(),  # noqa: B008  # a frozen tuple
    data_dir: Annotated[
        str, Option("--data-dir", metavar="DIR", help="Folder of `up`, where images are kept.")
    ] = ".quarterdeck",
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Copy a disk image to the images of local QEMU, and make a HypervisorMachineTemplate of it."""
    from quarterdeck.app import definitions
    from quarterdeck.operators.machines.drivers.qemu.images import check_name

    path = find_file(image)
    name = name or path.stem.lower().replace("_", "-")
    with _translate_refusals():
        check_name(name)
    kept_boot = _build_boot(boot)
    async with connect(kubeconfig, context) as client:
        metadata = {"name": name, "namespace": namespace or client.namespace}
        # an image of a template that the server refuses would never be used, nor removed
        await definitions.check(client.raw, _build_template(metadata, machine, _GIB))
        copying = copy_image(Path(data_dir), name, path, kept_boot)
        imported = await with_progress(copying, f"copying {path}")
        document = _build_template(metadata, machine, imported.disk_bytes)
        await definitions.apply(client.raw, [document])
    text = f"image {imported.path} is in place\nhypervisormachinetemplate/{name} applied"
    print_result({"image": str(imported.path), "template": name}, text, as_json=json)


COMMAND = Command(import_image)


def _build_boot(flags: BootFlags) -> "Boot":
    from quarterdeck.operators.machines.drivers.qemu.folder import Boot

    kernel, initrd = (str(find_file(each)) if each else "" for each in (flags.kernel, flags.initrd))
    return Boot(kernel=kernel, initrd=initrd, command_line=flags.command_line)


def _build_template(
    metadata: dict[str, str], flags: MachineFlags, image_bytes: int
) -> dict[str, Any]:
    """The template; its disk is as large as the image, in whole GiB, unless given."""
    return {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorMachineTemplate",
        "metadata": metadata,
        "spec": {
            "hypervisorClusterRef": {"name": flags.cluster},
            "template": {"libvirt": {"image": metadata["name"]}},
            "resources": {
                "cpu": flags.cpu,
                "memory": flags.memory,
                "disk": flags.disk or f"{max(1, -(-image_bytes // _GIB))}Gi",
            },
            "bootstrap": {"method": "none"},
            **_build_login(flags.user, flags.ssh_key),
        },
    }


def _build_login(user: str, ssh_key: str) -> dict[str, Any]:
    """Build the member `cloudInit` for the user and the key of the login; empty without both."""
    if not ssh_key and not user:
        return {}
    keys = [find_file(ssh_key).read_text().strip()] if ssh_key else []
    return {"cloudInit": {"sshAuthorizedKeys": keys, **({"user": user} if user else {})}}


def find_file(name: str) -> Path:
    """The absolute path of a file that exists.

    Raises:
        CommandError: if there is none.
    """
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise CommandError(f"file {path} not found", REFUSED)
    return path


async def copy_image(data: Path, name: str, path: Path, boot: "Boot") -> "Image":
    """Put an image where local QEMU takes images from.

    Raises:
        CommandError: if it is not an image, or qemu-img is missing.
    """
    from quarterdeck.operators.machines.drivers.qemu.folder import Folder
    from quarterdeck.operators.machines.drivers.qemu.images import Images
    from quarterdeck.operators.machines.drivers.qemu.provider import FOLDER

    with _translate_refusals():
        return await Images(Folder(data / FOLDER)).add(name, path, boot)


@contextmanager
def _translate_refusals() -> Iterator[None]:
    """Turn what the driver refuses into the answer of the command."""
    from quarterdeck.operators.machines.errors import HypervisorError

    try:
        yield
    except HypervisorError as error:
        raise CommandError(error.message, REFUSED) from error
