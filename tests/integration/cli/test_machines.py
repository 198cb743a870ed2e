"""`quarterdeck machines` and `quarterdeck hypervisor`, against a server of the test's own."""

import contextlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import required_tools

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.cli.commands.machines.rollout.status import describe
from quarterdeck.cli.commands.machines.ssh import build_command
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.main import run
from quarterdeck.client import Client, load_config
from quarterdeck.kit import json, yaml
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import decode
from quarterdeck.runtime.reconcile.client import build_path
from quarterdeck.wire.query import PatchOptions

PATCH = PatchOptions(field_manager="test", force=True)
REVISIONS = [
    {"revision": 1, "hash": "aaa", "image": "one", "template": "one"},
    {"revision": 2, "hash": "bbb", "image": "two", "template": "two"},
]


def _template(name: str, cpu: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": HypervisorMachineTemplate.KIND.api_version,
        "kind": "HypervisorMachineTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "hypervisorClusterRef": {"name": "lab"},
            "template": {"mock": {}},
            "resources": {"cpu": cpu, "memory": "1Gi", "disk": "10Gi"},
            "bootstrap": {"method": "none"},
        },
    }


async def _install(kubeconfig: Path, **status: Any) -> None:
    """A fleet with a history, and a machine with an address."""
    from quarterdeck.client.interfaces import PatchType

    async with Client(load_config(kubeconfig)) as client:
        await definitions.install(client.raw, KINDS)
        fleet = {
            "apiVersion": Fleet.KIND.api_version,
            "kind": "Fleet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"image": "two", "selector": {"app": "web"}, "replicas": 2},
        }
        claim = {
            "apiVersion": MachineClaim.KIND.api_version,
            "kind": "MachineClaim",
            "metadata": {"name": "m1", "namespace": "default"},
            "spec": {"templateRef": {"name": "one"}},
        }
        await definitions.apply(client.raw, [_template("one"), _template("two"), fleet, claim])
        done = {"updateRevision": "bbb", "revisions": REVISIONS, "observedGeneration": 9, **status}
        address = {"networkInfo": {"ipAddress": "10.0.0.7"}, "phase": "Ready"}
        for document, kind, value in ((fleet, Fleet, done), (claim, MachineClaim, address)):
            head = {key: document[key] for key in ("apiVersion", "kind", "metadata")}
            name = head["metadata"]["name"]  # type: ignore[index]
            path = build_path(kind, Key("default", name), "status")
            body = json.encode({**head, "status": value})
            await client.raw.patch(path, body, PatchType.APPLY, PATCH)


def _progress(reason: str, status: str = "True") -> list[dict[str, str]]:
    return [
        {
            "type": "Progressing",
            "status": status,
            "reason": reason,
            "message": "text",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]


async def _get(kubeconfig: Path, kind: type[Any], name: str) -> Any:
    async with Client(load_config(kubeconfig)) as client:
        return await client.get(kind, name, "default")


def shell(kubeconfig: Path, *arguments: str, code: int = 0) -> None:
    assert run([*arguments, "--kubeconfig", str(kubeconfig)]) == code


def test_complete_roll_out_is_reported(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig, conditions=_progress("UpdateComplete")))
    shell(kubeconfig, "machines", "rollout", "status", "web")
    assert "all 2 machines have revision bbb" in capsys.readouterr().out
    shell(kubeconfig, "machines", "rollout", "history", "web")
    assert capsys.readouterr().out.split()[5:8] == ["1", "aaa", "one"]
    shell(kubeconfig, "machines", "rollout", "undo", "web")
    assert asyncio.run(_get(kubeconfig, Fleet, "web")).spec.image == "one"


def test_undo_restores_a_template_that_was_edited(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    before = _template("two", cpu=4)["spec"]
    history = [
        {"revision": 1, "hash": "aaa", "image": "two", "template": "two", "templateSpec": before},
        {"revision": 2, "hash": "bbb", "image": "two", "template": "two"},
    ]
    asyncio.run(_install(kubeconfig, revisions=history))
    asyncio.run(_add_pool(kubeconfig, "ci"))
    shell(kubeconfig, "machines", "rollout", "undo", "web", code=2)
    assert (
        "used by runner pool ci; restore it for all of them with --shared"
        in capsys.readouterr().err
    )
    shell(kubeconfig, "machines", "rollout", "undo", "web", "--shared")
    assert "template two restored to its spec of revision 1" in capsys.readouterr().out
    template = asyncio.run(_get(kubeconfig, HypervisorMachineTemplate, "two"))
    assert template.spec.resources.cpu == 4
    shell(kubeconfig, "machines", "rollout", "undo", "web")
    assert "template two" not in capsys.readouterr().out


def test_undo_says_what_it_cannot_restore(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    history: list[dict[str, Any]] = [
        {**each, "image": "two", "template": "two"} for each in REVISIONS
    ]
    asyncio.run(_install(kubeconfig, revisions=history))
    shell(kubeconfig, "machines", "rollout", "undo", "web", code=2)
    assert "whose earlier spec was not recorded" in capsys.readouterr().err
    history[0] |= {"template": "three", "templateSpec": _template("three")["spec"]}
    asyncio.run(_install(kubeconfig, revisions=history))
    shell(kubeconfig, "machines", "rollout", "undo", "web", code=2)
    assert "HypervisorMachineTemplate three of revision 1 was deleted" in capsys.readouterr().err


async def _add_pool(kubeconfig: Path, name: str) -> None:
    pool = {
        "apiVersion": RunnerPool.KIND.api_version,
        "kind": "RunnerPool",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"templateRef": {"name": "two"}, "workload": {"type": "generic"}},
    }
    async with Client(load_config(kubeconfig)) as client:
        await definitions.apply(client.raw, [pool])


def test_stuck_roll_out_fails_the_command(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig, conditions=_progress("DeadlineExceeded", "False")))
    shell(kubeconfig, "machines", "rollout", "status", "web", code=1)
    assert "DeadlineExceeded" in capsys.readouterr().err
    shell(kubeconfig, "machines", "rollout", "undo", "web", "--to-revision", "7", code=2)
    assert "available: 1" in capsys.readouterr().err


def test_ssh_command_has_address_and_user(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig))
    shell(kubeconfig, "machines", "ssh", "m1", "--user", "admin", "--print")
    assert capsys.readouterr().out == "ssh admin@10.0.0.7\n"
    assert build_command("127.0.0.1:2222", "", "key") == [
        *("ssh", "-p", "2222", "-i", "key"),
        "127.0.0.1",
    ]
    shell(kubeconfig, "machines", "console", "m1", code=1)
    assert "has no VM yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("10.0.0.7/24", ["10.0.0.7"]),
        ("fd00::7", ["fd00::7"]),
        ("fd00::7/64", ["fd00::7"]),
        ("127.0.0.1:2222", ["-p", "2222", "127.0.0.1"]),
        ("[fd00::7]:2222", ["-p", "2222", "fd00::7"]),
        ("[fd00::7]", ["fd00::7"]),
    ],
)
def test_ssh_takes_addresses_as_claims_show_them(address: str, command: list[str]) -> None:
    assert build_command(address, "", "") == ["ssh", *command]


def test_failure_before_the_last_change_of_a_fleet_does_not_end_the_wait() -> None:
    (condition,) = _progress("ImageNotFound", "False")
    status = {"observedGeneration": 1, "conditions": [condition]}
    spec = {"image": "two", "selector": {"app": "web"}}
    for generation, is_over in ((1, True), (2, False)):
        document = {
            "apiVersion": Fleet.KIND.api_version,
            "kind": "Fleet",
            "metadata": {"name": "web", "generation": generation},
            "spec": spec,
            "status": status,
        }
        fleet = decode(Fleet, json.encode(document))
        with pytest.raises(CommandError) if is_over else contextlib.nullcontext():
            assert describe(fleet)[1] is False


def test_user_of_the_template_is_the_default(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig))
    shell(kubeconfig, "machines", "ssh", "m1", "--print")
    assert capsys.readouterr().out == "ssh 10.0.0.7\n", "the template names no user"
    asyncio.run(_change(kubeconfig, HypervisorMachineTemplate, "one", {"cloudInit": CLOUD_INIT}))
    shell(kubeconfig, "machines", "ssh", "m1", "--print")
    assert capsys.readouterr().out == "ssh core@10.0.0.7\n"
    asyncio.run(_change(kubeconfig, MachineClaim, "m1", {"networkInfo": None}, "status"))
    shell(kubeconfig, "machines", "ssh", "m1", "--print", code=1)
    assert "machine m1 has no address yet: it is Ready" in capsys.readouterr().err


CLOUD_INIT = {"user": "core"}


async def _change(
    kubeconfig: Path, kind: type[Any], name: str, values: object, part: str = "spec"
) -> None:
    async with Client(load_config(kubeconfig)) as client:
        objects = client.resource(kind.KIND.gvr)
        target = objects.subresource("status") if part == "status" else objects
        await target.patch(name, {part: values}, namespace="default")


def test_console_of_a_simulated_machine_is_its_file(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig))
    asyncio.run(_add_hypervisor(kubeconfig))
    asyncio.run(_change(kubeconfig, MachineClaim, "m1", {"providerID": "mock://u1"}, "status"))
    command = ["machines", "console", "m1", "--data-dir", str(tmp_path)]
    shell(kubeconfig, *command, code=1)
    error = capsys.readouterr().err
    assert "give the folder of `up` with --data-dir" in error
    path = Path(error.partition("quarterdeck machines console: ")[2].partition(" not found")[0])
    path.parent.mkdir(parents=True)
    path.write_text("login:\n")
    shell(kubeconfig, *command)
    assert capsys.readouterr().out == "login:\n"


def test_roll_out_that_takes_too_long_is_left(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig, conditions=_progress("Updating")))
    shell(kubeconfig, "machines", "rollout", "status", "web", "--no-wait", "--json", code=1)
    assert '"isComplete":false' in capsys.readouterr().out
    shell(kubeconfig, "machines", "rollout", "status", "web", "--timeout", "1", code=1)
    done = capsys.readouterr()
    assert "fleet web is not complete after 1 s" in done.err
    assert len(done.out.splitlines()) == 1, "a line for each change"


def test_ssh_to_a_simulated_machine_points_to_its_console(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    asyncio.run(_install(kubeconfig))
    asyncio.run(_add_hypervisor(kubeconfig))
    shell(kubeconfig, "machines", "ssh", "m1", code=1)
    assert "quarterdeck machines console m1" in capsys.readouterr().err


def test_controls_of_the_simulator_are_kept_in_a_configmap(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    shell(kubeconfig, "hypervisor", "fail", "clone_vm", "--kind", "partial", "--times", "3")
    shell(kubeconfig, "hypervisor", "timing", "--scale", "0.1", "--boot", "1-2")
    asyncio.run(_install(kubeconfig))
    asyncio.run(_add_hypervisor(kubeconfig))
    shell(kubeconfig, "hypervisor", "act", "kill-node", "sim-1")
    record = asyncio.run(_get(kubeconfig, ConfigMap, "hypervisor-simulator"))
    assert yaml.load(record.data["rules"]) == [{"op": "clone_vm", "kind": "partial", "times": 3}]
    assert yaml.load(record.data["timing"]) == {"scale": 0.1, "boot_s": [1.0, 2.0]}
    assert yaml.load(record.data["actions"])[0]["node"] == "sim-1"
    shell(kubeconfig, "hypervisor", "fail", "clone_vm", "--kind", "explode", code=2)
    shell(kubeconfig, "hypervisor", "act", "dance", code=2)
    shell(kubeconfig, "hypervisor", "heal")
    record = asyncio.run(_get(kubeconfig, ConfigMap, "hypervisor-simulator"))
    assert "rules" not in record.data
    shell(kubeconfig, "hypervisor", "show")
    assert "kill-node" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fail nonesuch", "rules[0].op: unknown value 'nonesuch'; available: *, clone_vm,"),
        (
            "fail clone_vm --kind explode",
            "rules[0].kind: unknown value 'explode'; available: error, timeout,",
        ),
        ("timing --scale=-4", "scale: -4.0 must be at least 0"),
        ("timing --boot 9-1", "boot_s: 9.0-1.0 must be a range of seconds, such as 1-3"),
        ("act dance", "actions[0].action: unknown value 'dance'; available: kill-node,"),
    ],
)
def test_bad_control_is_refused_with_its_field_and_the_choices(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    shell(kubeconfig, "hypervisor", *command.split(), code=2)
    assert message in capsys.readouterr().err


def test_actions_on_what_does_not_exist_name_what_does(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    def fail(*arguments: str, code: int = 1) -> str:
        shell(kubeconfig, "hypervisor", "act", *arguments, code=code)
        return capsys.readouterr().err

    asyncio.run(_install(kubeconfig))
    assert "node 'sim-1' not found; none exists" in fail("kill-node", "sim-1")
    assert "machine 'm1' not found; none exists" in fail("power-off", "m1")
    asyncio.run(_add_hypervisor(kubeconfig))
    assert "node 'sim-9' not found; available: sim-1, sim-2" in fail("kill-node", "sim-9")
    assert "machine 'm2' not found; available: m1" in fail("delete", "m2")
    assert "requires the name of a machine" in fail("delete", code=2)
    shell(kubeconfig, "hypervisor", "act", "power-off", "m1")
    shell(kubeconfig, "hypervisor", "act", "power-off", "100")
    assert "value is empty: a VM needs a name" in fail("rename", "m1", code=2)
    record = asyncio.run(_get(kubeconfig, ConfigMap, "hypervisor-simulator"))
    assert [each["vm"] for each in yaml.load(record.data["actions"])] == ["m1", "100"]


async def _add_hypervisor(kubeconfig: Path) -> None:
    """A simulated hypervisor, and a VM of the machine on it."""
    cluster = {
        "apiVersion": HypervisorCluster.KIND.api_version,
        "kind": "HypervisorCluster",
        "metadata": {"name": "lab", "namespace": "default"},
        "spec": {
            "provider": "mock",
            "endpoint": "mock://lab",
            "nodes": ["sim-1", "sim-2"],
            "defaultNetwork": "lan",
            "defaultStorage": "local",
        },
    }
    reference = {"hypervisorCluster": "default/lab", "vmId": 100, "node": "sim-1", "name": "m1"}
    async with Client(load_config(kubeconfig)) as client:
        await definitions.apply(client.raw, [cluster])
        statuses = client.resource(MachineClaim.KIND.gvr).subresource("status")
        status = {"vmRef": reference, "providerID": "mock://025b413f"}
        await statuses.patch("m1", {"status": status}, namespace="default")


def test_image_becomes_a_template(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    program = shutil.which("qemu-img")
    if program is None:
        if "qemu-img" in required_tools():
            pytest.fail("qemu-img is required and not installed")
        pytest.skip("qemu-img is not installed; make tools installs it")
    asyncio.run(_install(kubeconfig))
    image = tmp_path / "tiny_disk.qcow2"
    command = [program, "create", "-q", "-f", "qcow2", str(image), "3G"]
    subprocess.run(command, check=True)
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(b"kernel")
    command = ["machines", "template", "import", "--data-dir", str(tmp_path / "data")]
    shell(kubeconfig, *command, str(image), "--user", "admin", "--kernel", str(kernel))
    template = asyncio.run(_get(kubeconfig, HypervisorMachineTemplate, "tiny-disk"))
    assert template.spec.template.libvirt.image == "tiny-disk"
    assert template.spec.resources.disk == "3Gi"
    images = tmp_path / "data" / "qemu" / "images"
    assert (images / "tiny-disk.kernel").read_bytes() == b"kernel"
    assert (images / "tiny-disk.qcow2").is_file()
    shell(kubeconfig, *command, str(tmp_path / "none"), code=2)
    shell(kubeconfig, *command, str(image), "--name", "../escape", code=2)
    page = tmp_path / "page.qcow2"
    page.write_text("<html>404</html>")
    capsys.readouterr()
    shell(kubeconfig, *command, str(page), code=2)
    assert "is not a disk image: it is of no known format, 16 bytes" in capsys.readouterr().err
    assert not (images / "page.qcow2").exists()
    shell(kubeconfig, *command, str(image), "--name", "refused", "--memory", "much", code=1)
    assert "spec.resources.memory" in capsys.readouterr().err
    assert not (images / "refused.qcow2").exists()
