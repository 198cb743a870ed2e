"""Virtual machines on this host: one QEMU process each, without libvirt and without root.

A VM is a folder (`folder`): its record, its disk, its seed, the sockets of its process. Everything
is read from there, so that VMs outlive the operator and the next one finds them again. `images`
makes disks, `command` builds command lines, `process` starts and finds processes, `qmp` talks to
them, `tpm` gives each a vTPM; `provider` is the Hypervisor that the operator talks to.
"""

from quarterdeck.operators.machines.drivers.qemu.provider import QemuProvider, open_provider

__all__ = ["QemuProvider", "open_provider"]
