"""The command line of a VM. Pure."""

from typing import NamedTuple

from quarterdeck.operators.machines.drivers.qemu.folder import Boot, VmFolder, VmRecord

QMP_SOCKET, CONSOLE_SOCKET, TPM_SOCKET = "qmp.sock", "console.sock", "tpm.sock"
LOOPBACK = "127.0.0.1"
_MIB = 1 << 20
_SMALLEST_MIB = 16


class Accelerator(NamedTuple):
    """A QEMU accelerator, and the CPU model to use with it."""

    name: str
    cpu: str


KVM = Accelerator("kvm", "host")
TCG = Accelerator("tcg", "max")


def escape(value: object) -> str:
    """Escape a value for a QEMU option, where commas separate values."""
    return str(value).replace(",", ",,")


def build_command(
    at: VmFolder, record: VmRecord, *, accelerator: Accelerator, has_seed: bool
) -> list[str]:
    """Build the arguments of QEMU; paths of sockets are relative to its working folder."""
    memory = max(_SMALLEST_MIB, record.memory_bytes // _MIB)
    return [
        *("-name", f"guest={escape(record.name)}", "-uuid", record.uuid),
        *("-machine", f"q35,accel={accelerator.name}", "-cpu", accelerator.cpu),
        *("-smp", str(record.cpu), "-m", f"{memory}M"),
        *("-no-user-config", "-nodefaults", "-display", "none"),
        *("-sandbox", "on,obsolete=deny,resourcecontrol=deny"),
        *("-qmp", f"unix:{QMP_SOCKET},server=on,wait=off"),
        *_build_console(at),
        *("-drive", f"file={escape(at.disk)},if=virtio,format=qcow2"),
        *(_seed(at) if has_seed else ()),
        *("-netdev", _build_network(record)),
        *("-device", f"virtio-net-pci,netdev=net0,mac={record.mac}"),
        *("-device", "virtio-rng-pci"),
        *(_tpm() if record.has_tpm else ()),
        *_build_kernel(record.source.boot),
        *("-pidfile", str(at.pid), "-daemonize"),
    ]


def _build_console(at: VmFolder) -> tuple[str, ...]:
    log = f"logfile={escape(at.console_log)},logappend=off"
    return (
        "-chardev",
        f"socket,id=console,path={CONSOLE_SOCKET},server=on,wait=off,{log}",
        "-serial",
        "chardev:console",
    )


def _build_network(record: VmRecord) -> str:
    """Build QEMU's user network; only SSH is forwarded, from a loopback port."""
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


def _build_kernel(boot: Boot) -> tuple[str, ...]:
    if not boot.kernel:
        return ()
    initrd = ("-initrd", boot.initrd) if boot.initrd else ()
    return ("-kernel", boot.kernel, *initrd, "-append", boot.command_line or "console=ttyS0")
