"""`quarterdeck machines`: roll-outs of fleets, and ways into machines."""

COMMANDS = {
    "rollout": "Follow, list and undo roll-outs of fleets",
    "console": "Print the address of a machine's console",
    "ssh": "Log in to a machine",
    "template": "Make templates from images",
    "tpm-roots": "Print the certificates that endorse TPMs of local VMs",
}
