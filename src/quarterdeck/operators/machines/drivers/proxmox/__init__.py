"""Proxmox VE, through its REST API and our own HTTP core.

`api` sends requests and `failure` says what a refusal means; `records` and `vmconfig` are the
shapes of the API; `inventory` reads, `templates` finds what to clone, `seeds` uploads cloud-init
images, `slots` bounds clones per node and storage, `provider` is the Hypervisor that the operator
talks to. Start reading there. Why not `proxmoxer`: docs/decisions/0009-proxmox-client.md.
"""

from quarterdeck.operators.machines.drivers.proxmox.provider import ProxmoxProvider, open_provider

__all__ = ["ProxmoxProvider", "open_provider"]
