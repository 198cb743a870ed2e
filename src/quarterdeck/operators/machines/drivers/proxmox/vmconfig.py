"""The configuration of a VM: what is read from it, and what is written to it. Pure."""

import re
from collections.abc import Iterable, Sequence

from quarterdeck.operators.machines.drivers.proxmox.records import Config
from quarterdeck.operators.machines.machine import Nic

MIB = 1 << 20
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)")
_DISK = re.compile(r"(?:scsi|virtio|sata|ide)\d+")
_MAC = re.compile(r"[0-9A-F]{2}(?::[0-9A-F]{2}){5}", re.IGNORECASE)
_TAG_MARKS = re.compile(r"[;, ]+")
_FIRST_BUSES = ("scsi0", "virtio0", "sata0", "ide0")


def parse_tags(text: str) -> tuple[str, ...]:
    """Parse tags, in lower case and sorted; any of three characters separates them."""
    return tuple(sorted(tag for tag in _TAG_MARKS.split(text.lower()) if tag))


def build_tags(tags: Iterable[str]) -> str:
    """Join tags in lower case, as Proxmox VE stores them."""
    return ";".join(dict.fromkeys(tag.lower() for tag in tags if tag))


def parse_options(text: str) -> dict[str, str]:
    """Parse `a=1,b=2`; a value without a name has the empty string as its key."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {name if mark else "": value if mark else name for name, mark, value in pairs}


def parse_size(text: str) -> int:
    """Parse a size such as `32G` into bytes; 0 if the text is not a size."""
    match = _SIZE.fullmatch(text.strip())
    return int(float(match[1]) * _SIZES[match[2]]) if match else 0


def find_disk(config: Config) -> str:
    """The key of the disk that the VM boots from; empty if it has none."""
    order = parse_options(config.get("boot", "")).get("order", "").split(";")
    rest = sorted(key for key in config if _DISK.fullmatch(key))
    for key in (*order, *_FIRST_BUSES, *rest):
        if _DISK.fullmatch(key) and key in config and "media=cdrom" not in config[key]:
            return key
    return ""


def read_disk_size(config: Config) -> int:
    """The size of the disk that the VM boots from, in bytes."""
    return parse_size(parse_options(config.get(find_disk(config), "")).get("size", ""))


def read_disk_storage(config: Config) -> str:
    """The storage that the disk is on; empty if there is no disk."""
    volume = config.get(find_disk(config), "").partition(",")[0]
    return volume.partition(":")[0] if ":" in volume else ""


def find_mac(config: Config, key: str = "net0") -> str:
    """The hardware address of an interface."""
    match = _MAC.search(config.get(key, ""))
    return match[0] if match else ""


def find_uuid(config: Config) -> str:
    """The SMBIOS UUID that the guest sees."""
    return parse_options(config.get("smbios1", "")).get("uuid", "")


def has_agent(config: Config) -> bool:
    """Whether the guest agent is switched on."""
    options = parse_options(config.get("agent", ""))
    return "1" in (options.get("", ""), options.get("enabled", ""))


def build_nic(config: Config, key: str, nic: Nic) -> str:
    """Build an interface; the clone keeps its model, and its MAC unless `nic` has one."""
    before = config.get(key, "")
    model = before.partition(",")[0].partition("=")[0] or "virtio"
    mac = nic.mac or find_mac(config, key)
    parts = [f"{model}={mac}" if mac else model, f"bridge={nic.bridge}"]
    if nic.vlan is not None:
        parts.append(f"tag={nic.vlan}")
    kept = {"firewall", "mtu", "rate", "queues", "link_down"}
    options = parse_options(before)
    parts.extend(f"{name}={value}" for name, value in options.items() if name in kept)
    return ",".join(parts)


def build_nics(config: Config, nics: Sequence[Nic]) -> dict[str, str]:
    """Build all interfaces, by their key in the configuration."""
    keys = [f"net{index}" for index in range(len(nics))]
    return {key: build_nic(config, key, nic) for key, nic in zip(keys, nics, strict=True)}


def build_tpm(storage: str) -> str:
    """Build a new, empty vTPM; the version is given because the default is 1.2."""
    return f"{storage}:1,version=v2.0"


def build_firmware(config: Config, storage: str) -> dict[str, str]:
    """Settings that a VM lacks for measured boot: UEFI firmware, its variables, machine q35."""
    found = {"bios": "ovmf"} if config.get("bios") != "ovmf" else {}
    if "q35" not in config.get("machine", ""):
        found["machine"] = "q35"
    if "efidisk0" not in config:
        found["efidisk0"] = f"{storage}:1,efitype=4m,pre-enrolled-keys=1"
    return found


def parse_memory(text: str) -> int:
    """The memory of a VM in bytes; newer versions write `current=2048`, older ones `2048`."""
    options = parse_options(text)
    digits = options.get("current", options.get("", "0"))
    return int(digits) * MIB if digits.isdigit() else 0
