"""`quarterdeck machines template`: templates from images."""

COMMANDS = {"import": "Make a template for local VMs from a disk image"}
