"""Providers by name: our own, their aliases, and those of installed packages."""

from pathlib import Path

import pytest
from tests.contract.hypervisor.qemu_rig import settings_of

from quarterdeck.operators.machines.drivers import proxmox, qemu
from quarterdeck.operators.machines.providers import Providers, ProviderUnknown


@pytest.mark.parametrize("name", ["qemu", "QEMU", "libvirt", "Libvirt"])
def test_local_vms_have_two_names(name: str) -> None:
    assert Providers().find(name) is qemu.open_provider


def test_proxmox_is_found_without_regard_to_case() -> None:
    assert Providers().find("Proxmox") is proxmox.open_provider


async def test_opening_talks_to_nobody(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "none")._replace(endpoint="https://127.0.0.1:1")
    for name in ("qemu", "proxmox"):
        provider = await Providers().find(name)(settings)
        assert provider.name == name
        await provider.aclose()
    assert not (tmp_path / "none").exists()


async def test_installed_package_offers_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_quarterdeck.py").write_text(
        "async def open_provider(settings):\n    return f'acme at {settings.endpoint}'\n"
    )
    info = tmp_path / "acme_quarterdeck-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-quarterdeck\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[quarterdeck.hypervisors]\nacme = acme_quarterdeck:open_provider\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    opened = await Providers().find("Acme")(settings_of(tmp_path))
    assert str(opened) == "acme at https://localhost"
    with pytest.raises(ProviderUnknown, match="available: acme, mock, proxmox, qemu"):
        Providers().find("vmware")
