"""The fake Proxmox VE as an independent client sees it: `proxmoxer`, which is not ours."""

from pathlib import Path

import pytest
from fake_pve import FakePve
from fake_pve.server import PASSWORD, TOKEN, USERNAME
from proxmoxer import AuthenticationError, ProxmoxAPI, ResourceException
from proxmoxer.tools import Tasks


def _finish(api: ProxmoxAPI, upid: str) -> str:
    found = Tasks.blocking_status(api, upid, timeout=240, polling_interval=0.01)
    return str(found["exitstatus"])


@pytest.mark.parametrize("method", ["token", "password"])
def test_proxmoxer_takes_a_vm_from_template_to_gone(tmp_path: Path, method: str) -> None:
    with FakePve(tmp_path).running() as fake:
        fake.state.add_template(9000, "debian-12")
        secret = (
            {"token_name": "op", "token_value": TOKEN}
            if method == "token"
            else {"password": PASSWORD}
        )
        api = ProxmoxAPI(
            "127.0.0.1",
            port=fake.port,
            user=USERNAME,
            verify_ssl=fake.certificate_path,
            backend="https",
            **secret,
        )
        assert api.version.get()["release"] == "8.4"
        vmid = int(api.cluster.nextid.get())
        node = api.nodes("pve1")
        assert _finish(api, node.qemu(9000).clone.post(newid=vmid, name="a", full=0)) == "OK"
        vm = node.qemu(vmid)
        task = vm.config.post(cores=2, memory=2048, tpmstate0="local-lvm:1,version=v2.0")
        assert _finish(api, task) == "OK"
        assert vm.config.get()["cores"] == 2
        seed = tmp_path / "seed.iso"
        seed.write_bytes(b"image")
        with seed.open("rb") as file:
            task = node.storage("local").upload.post(content="iso", filename=file)
        assert _finish(api, task) == "OK"
        (row,) = node.storage("local").content.get(content="iso")
        assert row["volid"] == "local:iso/seed.iso"
        assert _finish(api, vm.status.start.post()) == "OK"
        with pytest.raises(ResourceException) as running:
            vm.delete()
        assert "is running - destroy failed" in str(running.value)
        assert _finish(api, vm.status.stop.post()) == "OK"
        options = {"purge": 1, "destroy-unreferenced-disks": 1}
        assert _finish(api, vm.delete(**options)) == "OK"
        with pytest.raises(ResourceException) as gone:
            vm.status.current.get()
        assert gone.value.status_code == 500
        assert "does not exist" in str(gone.value)


def test_proxmoxer_is_refused_with_a_wrong_password(tmp_path: Path) -> None:
    with FakePve(tmp_path).running() as fake, pytest.raises(AuthenticationError):
        ProxmoxAPI(
            "127.0.0.1",
            port=fake.port,
            user=USERNAME,
            password="wrong",
            verify_ssl=fake.certificate_path,
            backend="https",
        )
