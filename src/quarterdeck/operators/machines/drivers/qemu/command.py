"""The command line of a VM. Pure."""

from typing import NamedTuple

from quarterdeck.operators.machines.drivers.qemu.folder import Boot, VmFolder, VmRecord

QMP_SOCKET, CONSOLE_SOCKET, TPM_SOCKET = "qmp.sock", "console.sock", "tpm.sock"
LOOPBACK = "127.0.0.1"
_MIB = 1 << 20
_SMALLEST_MIB = 16


class Accelerator(NamedTuple):
    """How guest code is run."""

    name: str
    cpu: str


KVM = Accelerator("kvm", "host")
TCG = Accelerator("tcg", "max")


def escape(value: object) -> str:
    """A value inside an option that is separated by commas."""
    return str(value).replace(",", ",,")


def build_command(
    at: VmFolder, record: VmRecord, *, accelerator: Accelerator, has_seed: bool
) -> list[str]:
    """Arguments of QEMU. Sockets are relative to the folder it is started in."""
    memory = max(_SMALLEST_MIB, record.memory_bytes // _MIB)
    return [
        *("-name", f"guest={escape(record.name)}", "-uuid", record.uuid),
        *("-machine", f"q35,accel={accelerator.name}", "-cpu", accelerator.cpu),
        *("-smp", str(record.cpu), "-m", f"{memory}M"),
        *("-no-user-config", "-nodefaults", "-display", "none"),
        *("-sandbox", "on,obsolete=deny,resourcecontrol=deny"),
        *("-qmp", f"unix:{QMP_SOCKET},server=on,wait=off"),
        *_console(at),
        *("-drive", f"file={escape(at.disk)},if=virtio,format=qcow2"),
        *(_seed(at) if has_seed else ()),
        *("-netdev", _network(record)),
        *("-device", f"virtio-net-pci,netdev=net0,mac={record.mac}"),
        *("-device", "virtio-rng-pci"),
        *(_tpm() if record.has_tpm else ()),
        *_kernel(record.source.boot),
        *("-pidfile", str(at.pid), "-daemonize"),
    ]


def _console(at: VmFolder) -> tuple[str, ...]:
    log = f"logfile={escape(at.console_log)},logappend=off"
    return (
        "-chardev",
        f"socket,id=console,path={CONSOLE_SOCKET},server=on,wait=off,{log}",
        "-serial",
        "chardev:console",
    )


def _network(record: VmRecord) -> str:
    """The user network; nobody reaches into it but by the port on loopback that leads to SSH."""
    forward = f",hostfwd=tcp:{LOOPBACK}:{record.ssh_port}-:22" if record.ssh_port else ""
    return f"user,id=net0{forward}"


def _seed(at: VmFolder) -> tuple[str, ...]:
    return ("-drive", f"file={escape(at.seed)},if=virtio,format=raw,readonly=on")


def _tpm() -> tuple[str, ...]:
    return (
        *("-chardev", f"socket,id=tpm,path={TPM_SOCKET}"),
        *("-tpmdev", "emulator,id=tpm0,chardev=tpm"),
        *("-device", "tpm-tis,tpmdev=tpm0"),
    )


def _kernel(boot: Boot) -> tuple[str, ...]:
    if not boot.kernel:
        return ()
    initrd = ("-initrd", boot.initrd) if boot.initrd else ()
    return ("-kernel", boot.kernel, *initrd, "-append", boot.command_line or "console=ttyS0")
