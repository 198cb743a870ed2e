"""A Fleet whose VM proves itself by its TPM: real QEMU, swtpm, agent and network; without KVM.

The VM attests over the network, becomes ready, renews its certificate, is drained and deleted. A
second VM with a copy of its TPM is refused.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.machines.test_local_vm import Up, require_image, running_up

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.testing.programs import require

pytestmark = pytest.mark.slow  # whole machines boot, in emulation

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "a-vm-that-proves-itself.md"
COPY = """
apiVersion: hypervisor.hyperfleet.io/v1alpha1
kind: MachineClaim
metadata: {name: copy, namespace: default}
spec:
  templateRef: {name: proved}
  powerState: '%s'
"""
JOINED = """
apiVersion: hypervisor.hyperfleet.io/v1alpha1
kind: HypervisorMachineTemplate
metadata: {name: joined, namespace: default}
spec:
  hypervisorClusterRef: {name: local}
  template: {libvirt: {image: agent-image}}
  resources: {cpu: 1, memory: 256Mi, disk: 1Gi}
  attestation: {method: join-token}
  bootstrap: {method: none}
---
apiVersion: hypervisor.hyperfleet.io/v1alpha1
kind: MachineClaim
metadata: {name: joined, namespace: default}
spec:
  templateRef: {name: joined}
"""
HOOK = "pre-drain.hyperfleet.io/look"


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    with running_up(tmp_path, "--machine-certificate-seconds", "60") as started:
        yield started


def prepare(up: Up, *, with_fleet: bool = True) -> None:
    """What the tutorial does: the image, trust in the maker of local TPMs, and the fleet."""
    for program in (programs.QEMU, programs.QEMU_IMG, programs.SWTPM, programs.SWTPM_SETUP):
        require(program)
    image = require_image("attested.qcow2")
    up.run(
        *("machines", "template", "import", str(image), "--name", "agent-image"),
        *("--memory", "256Mi", "--data-dir", "data"),
    )
    roots = up.run("machines", "tpm-roots", "--data-dir", "data")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tpm-makers", "namespace": "quarterdeck-system"},
        "stringData": {"roots.pem": roots},
    }
    up.run("apply", "-f", "-", text=json.dumps(secret))
    blocks = PAGE.read_text().split("```")[1::2]
    manifests = next(each for each in blocks if each.startswith("yaml attested\n"))
    documents = manifests.removeprefix("yaml attested").split("---\n")
    up.run("apply", "-f", "-", text="---\n".join(documents if with_fleet else documents[:2]))


def read_claim(up: Up, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(up.run("get", "machineclaim", name, "-o", "json"))
    return found


def read_phase(up: Up, name: str) -> str:
    return str(read_claim(up, name).get("status", {}).get("phase", ""))


def console(up: Up, claim: dict[str, Any]) -> str:
    path = up.files.at(claim["status"]["vmRef"]["vmId"]).console_log
    return path.read_text(errors="replace") if path.exists() else ""


def wait_for_line(up: Up, claim: dict[str, Any], text: str) -> None:
    """Wait until the agent has said something on the console of its machine."""

    def is_there() -> bool:
        found = console(up, claim)
        assert text in found or "the agent ended" not in found, found
        return text in found

    up.wait(f"{text!r} on the console", is_there)


def annotate(up: Up, claim: dict[str, Any], value: str | None) -> None:
    """Set or remove the hook that holds a deletion."""
    meta = claim["metadata"]
    document = {
        "apiVersion": claim["apiVersion"],
        "kind": "MachineClaim",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "annotations": {HOOK: value} if value is not None else {},
        },
    }
    up.run("apply", "-f", "-", text=json.dumps(document))


def test_a_vm_proves_itself_by_its_tpm_and_a_copy_of_the_tpm_does_not(up: Up) -> None:
    prepare(up)
    up.wait("a machine", lambda: up.files.list_ids() != [])
    (claim,) = up.objects("machineclaims")
    wait_for_line(up, claim, "reported Ready")
    claim = up.wait_ready("machineclaims")
    first = claim["status"]["attestation"]
    assert first["method"] == "tpm"
    assert first["spiffeID"].endswith(
        f"/vm/default/{claim['metadata']['name']}/{claim['metadata']['uid']}"
    )
    assert claim["status"]["bootstrapInfo"] == "Ready"
    name = claim["metadata"]["name"]
    refuse_copy(up, claim)
    wait_for_line(up, claim, "certificate renewed")
    renewed = read_claim(up, name)["status"]["attestation"]
    assert renewed["certSerial"] != first["certSerial"]
    assert (renewed["ekHash"], renewed["attestedAt"]) == (first["ekHash"], first["attestedAt"])
    drain(up, claim)


def refuse_copy(up: Up, original: dict[str, Any]) -> None:
    """Start a second machine with the TPM of the first."""
    up.run("apply", "-f", "-", text=COPY % "Off")
    up.wait("a machine that is off", lambda: read_phase(up, "copy") == "Ready")
    claim = read_claim(up, "copy")
    source, target = (
        up.files.at(each["status"]["vmRef"]["vmId"]).tpm for each in (original, claim)
    )
    shutil.rmtree(target)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".lock"))
    up.run("apply", "-f", "-", text=COPY % "On")
    wait_for_line(up, claim, "the agent ended with 5")
    claim = read_claim(up, "copy")
    assert "attestation" not in claim["status"]
    assert claim["status"]["phase"] == "Bootstrapping"
    refusal = claim["status"]["attestationRefusal"]
    assert (refusal["reason"], original["metadata"]["name"] in refusal["message"]) == (
        "ClonedTpm",
        True,
    )
    up.run("delete", "machineclaim", "copy")


def test_a_vm_proves_itself_by_a_token_that_is_gone_afterwards(up: Up) -> None:
    prepare(up, with_fleet=False)
    up.run("apply", "-f", "-", text=JOINED)
    up.wait("a machine", lambda: up.files.list_ids() != [])
    claim = read_claim(up, "joined")
    wait_for_line(up, claim, "reported Ready")
    claim = up.wait_ready("machineclaims")
    folder = up.files.at(claim["status"]["vmRef"]["vmId"])
    assert not folder.seed.exists()
    assert all(b"hf1." not in path.read_bytes() for path in folder.path.iterdir() if path.is_file())
    up.run("delete", "machineclaim", "joined")
    up.wait("no machine", lambda: up.objects("machineclaims") == [])


def drain(up: Up, claim: dict[str, Any]) -> None:
    """Hold the deletion until the agent was told to drain, then let it go on."""
    name = claim["metadata"]["name"]
    annotate(up, claim, "")
    up.run("delete", "fleet", "proved")
    wait_for_line(up, claim, "drain requested")
    assert read_claim(up, name)["status"]["phase"] == "Draining"
    annotate(up, claim, None)
    up.wait("no machine", lambda: up.objects("machineclaims") == [])
    assert up.files.list_ids() == []
