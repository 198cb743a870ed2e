"""Proxmox VE, by its REST API and our own HTTP client.

`api` sends requests and `failure` classifies errors; `records` and `vmconfig` have the types of the
API; `inventory` reads, `templates` finds what to clone, `seeds` uploads cloud-init images, `slots`
limits clones per node and storage. Start at `provider`, the Hypervisor that the operator uses.
Why not `proxmoxer`: docs/decisions/0009-proxmox-client.md.
"""

from quarterdeck.operators.machines.drivers.proxmox.provider import ProxmoxProvider, open_provider

__all__ = ["ProxmoxProvider", "open_provider"]
