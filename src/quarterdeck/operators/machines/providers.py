"""Finds hypervisor providers: built-in ones, and those of installed packages by entry point.

A package adds one by

    [project.entry-points."quarterdeck.hypervisors"]
    acme = "acme_quarterdeck:open_provider"

where `open_provider` is a `ports.OpenProvider`.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points

from quarterdeck.operators.machines.ports import OpenProvider

GROUP = "quarterdeck.hypervisors"
_DRIVERS = "quarterdeck.operators.machines.drivers"
_OWN = {
    "mock": f"{_DRIVERS}.simulator:open_provider",
    "proxmox": f"{_DRIVERS}.proxmox:open_provider",
    "qemu": f"{_DRIVERS}.qemu:open_provider",
}
_ALIASES = {"libvirt": "qemu", "simulator": "mock"}


class ProviderUnknown(LookupError):
    """Raised when no provider has this name; the message lists the providers."""


class Providers:
    """Finds providers by name, ignoring case; `own` replaces built-in ones in tests and `up`."""

    def __init__(self, own: Mapping[str, OpenProvider] | None = None) -> None:
        self._own = dict(own or {})

    def find(self, name: str) -> OpenProvider:
        """Find the function that opens a provider.

        Raises:
            ProviderUnknown: naming the available providers.
        """
        key = normalize_name(name)
        if key in self._own:
            return self._own[key]
        if key in _OWN:
            return _load(key, _OWN[key])
        for point in entry_points(group=GROUP, name=key):
            loaded: OpenProvider = point.load()
            return loaded
        known = sorted({*_OWN, *self._own, *(each.name for each in entry_points(group=GROUP))})
        raise ProviderUnknown(
            f"provider {name!r} not found; available: {', '.join(known)}; "
            f"install others as packages with an entry point in the group {GROUP}"
        )


def normalize_name(name: str) -> str:
    """The name in lower case, aliases resolved."""
    return _ALIASES.get(name.lower(), name.lower())


def _load(name: str, place: str) -> OpenProvider:
    module, _, attribute = place.partition(":")
    try:
        found: OpenProvider = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ProviderUnknown(f"the provider {name!r} is not part of this version") from error
    return found
