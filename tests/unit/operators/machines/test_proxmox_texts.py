"""What the Proxmox VE driver reads out of texts, and writes into them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.machines.drivers.proxmox import vmconfig
from quarterdeck.operators.machines.drivers.proxmox.failure import classify, read_failure
from quarterdeck.operators.machines.drivers.proxmox.records import Resource, Upid
from quarterdeck.operators.machines.drivers.proxmox.templates import choose_templates
from quarterdeck.operators.machines.drivers.proxmox.trust import read_fingerprint
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine import Nic, TemplateRef

TAGS = st.lists(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,20}", fullmatch=True), max_size=8)


@given(TAGS)
def test_tags_come_back_as_they_were_written_in_lower_case(tags: list[str]) -> None:
    assert vmconfig.parse_tags(vmconfig.build_tags(tags)) == tuple(
        sorted({tag.lower() for tag in tags})
    )


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (500, "Configuration file 'nodes/a/qemu-server/7.conf' does not exist", Code.NOT_FOUND),
        (400, "Parameter verification failed.; vmid: VM 7 already exists", Code.ALREADY_EXISTS),
        (500, "unable to create VM 7: config file already exists", Code.ALREADY_EXISTS),
        (500, "VM 7 is running - destroy failed", Code.RUNNING),
        (500, "can't lock file '/var/lock/x' - got timeout", Code.LOCKED),
        (500, "VM is locked (clone)", Code.LOCKED),
        (500, "no such task", Code.TASK_UNKNOWN),
        (500, "Linked clone feature is not supported for drive 'scsi0'", Code.STORAGE_UNSUPPORTED),
        (500, "storage 'x' does not exist", Code.STORAGE_UNSUPPORTED),
        (500, "lvcreate: not enough free extents", Code.RESOURCE_EXHAUSTED),
        (403, "VM is locked (clone)", Code.FORBIDDEN),
        (429, "", Code.RATE_LIMITED),
        (413, "", Code.PAYLOAD_TOO_LARGE),
        (501, "Method not implemented", Code.NOT_SUPPORTED),
        (599, "Too many redirections", Code.UNAVAILABLE),
        (595, "Connection timed out", Code.UNAVAILABLE),
        (596, "Connection timed out", Code.UNAVAILABLE),
        (504, "Gateway Timeout", Code.TIMEOUT),
        (422, "anything", Code.INVALID_SPEC),
    ],
)
def test_texts_decide_what_a_failure_means(status: int, text: str, code: Code) -> None:
    assert classify(status, text) is code


@given(st.integers(300, 999), st.text(max_size=50), st.dictionaries(st.text(), st.text()))
def test_every_answer_becomes_an_error(status: int, text: str, errors: dict[str, str]) -> None:
    error = read_failure("GET /x", status, text, errors)
    assert isinstance(error, HypervisorError)
    assert "\n" not in str(error)
    assert str(status) in str(error)


@pytest.mark.parametrize("text", ["", "UPID:", "UPID::1:2:3:qmstart:7:a@pve:", "hello", "UPID:a:b"])
def test_text_that_is_not_a_task_counts_as_forgotten(text: str) -> None:
    with pytest.raises(HypervisorError) as caught:
        Upid.parse(text)
    assert caught.value.code is Code.TASK_UNKNOWN


def test_a_task_names_node_type_and_vm() -> None:
    upid = Upid.parse("UPID:pve1:0000AB:00CD:65F0:qmstart:107:hf@pve!op:")
    assert (upid.node, upid.type, upid.id) == ("pve1", "qmstart", "107")


def test_an_interface_keeps_what_nobody_changed() -> None:
    config = {"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=7"}
    built = vmconfig.build_nics(config, [Nic("vmbr1", 9), Nic("vmbr2", mac="AA:BB:CC:DD:EE:FF")])
    assert built == {
        "net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,tag=9,firewall=1",
        "net1": "virtio=AA:BB:CC:DD:EE:FF,bridge=vmbr2",
    }


@pytest.mark.parametrize(
    ("config", "disk"),
    [
        ({"boot": "order=virtio1;net0", "scsi0": "a:1", "virtio1": "a:2"}, "virtio1"),
        ({"ide2": "local:iso/x.iso,media=cdrom", "sata3": "a:1"}, "sata3"),
        ({"boot": "order=ide2", "ide2": "none,media=cdrom", "scsi0": "a:1"}, "scsi0"),
        ({"net0": "x"}, ""),
    ],
)
def test_the_disk_is_the_one_that_is_booted(config: dict[str, str], disk: str) -> None:
    assert vmconfig.find_disk(config) == disk


def test_sizes_and_memory_are_read_in_every_spelling() -> None:
    assert vmconfig.parse_size("32G") == 32 << 30
    assert vmconfig.parse_size("4M") == 4 << 20
    assert vmconfig.parse_size("what") == 0
    assert vmconfig.parse_memory("2048") == vmconfig.parse_memory("current=2048") == 2 << 30


def test_a_fingerprint_is_told_from_a_certificate() -> None:
    digits = "ab" * 32
    assert read_fingerprint(":".join(["AB"] * 32)) == read_fingerprint(f" {digits}\n") == digits
    assert read_fingerprint("-----BEGIN CERTIFICATE-----") == read_fingerprint("ab:cd") == ""


ROWS = (
    Resource(vmid=100, node="a", name="web", template=0, tags="linux"),
    Resource(vmid=900, node="a", name="base", template=1, tags="linux;golden"),
    Resource(vmid=901, node="b", name="base", template=1, tags="linux;golden"),
    Resource(vmid=902, node="a", name="other", template=1, tags="linux"),
    Resource(vmid=903, node="a", type="lxc", name="base", template=1),
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(TemplateRef(id=902), [902], id="id"),
        pytest.param(TemplateRef(name="base"), [900, 901], id="name on two nodes"),
        pytest.param(TemplateRef(tags=("Linux", "golden")), [900, 901], id="tags"),
    ],
)
def test_templates_are_found_by_id_name_and_tags(wanted: TemplateRef, found: list[int]) -> None:
    assert [row.vmid for row in choose_templates(ROWS, wanted)] == found


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        pytest.param(TemplateRef(id=100), Code.NOT_A_TEMPLATE, id="a VM"),
        pytest.param(TemplateRef(id=7), Code.TEMPLATE_NOT_FOUND, id="unknown id"),
        pytest.param(TemplateRef(name="web"), Code.TEMPLATE_NOT_FOUND, id="name of a VM"),
        pytest.param(TemplateRef(tags=("linux",)), Code.AMBIGUOUS, id="two on one node"),
        pytest.param(TemplateRef(), Code.TEMPLATE_NOT_FOUND, id="nothing"),
    ],
)
def test_references_without_one_template_are_refused(wanted: TemplateRef, code: Code) -> None:
    with pytest.raises(HypervisorError) as caught:
        choose_templates(ROWS, wanted)
    assert caught.value.code is code
