"""A Proxmox VE that exists only in a test: real HTTPS, the paths and texts of the real one.

It runs on the standard library's HTTP server in threads of its own, so that it shares no code with
the driver under test. `state` is what the hypervisor has, `routes` what each path does, `server`
the listening, the credentials and the faults. `proxmoxer` is the independent judge of it.
"""

from fake_pve.server import FakePve, Fault
from fake_pve.state import Refusal, Vm

__all__ = ["FakePve", "Fault", "Refusal", "Vm"]
