"""Facts that a machine reports about itself; a token may be bound to its MAC address."""

import socket
from pathlib import Path
from typing import Any

VERSION = "1"
_LONGEST = 256
_MOST_ADDRESSES = 32


def describe_machine(root: Path = Path("/")) -> dict[str, Any]:
    """Name, identity and hardware addresses, as far as they are known."""
    return {
        "hostname": socket.gethostname()[:_LONGEST],
        "machineId": _read(root / "etc/machine-id"),
        "mac": _list_addresses(root / "sys/class/net"),
        "agentVersion": VERSION,
    }


def _list_addresses(folder: Path) -> list[str]:
    try:
        devices = sorted(each for each in folder.iterdir() if each.name != "lo")
    except OSError:
        return []
    found = [_read(each / "address") for each in devices]
    return [each for each in found if each][:_MOST_ADDRESSES]


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()[:_LONGEST]
    except (OSError, UnicodeDecodeError):
        return ""
