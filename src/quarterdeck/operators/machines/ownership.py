"""The owner of a VM: written into its tags and description, and read back. Pure.

Tags are flat, lower case and unordered, so they hold short ids only; the full owner is one JSON
line in the description, between two markers. A VM is ours if name, description and tags agree. The
VM id is not compared, because ids are reused.

A clone is tagged only when it is configured. Its description lists from the start the tags that it
has until then, which are those of the template. Any other tag means another owner.
"""

import re
from collections.abc import Iterable

import msgspec

from quarterdeck.apis.hypervisor.names import PREFIX
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import Owner, VMInfo

MANAGED_TAG = "hf-managed"
OPERATOR_TAG = "hf-op-"
CLAIM_TAG = "hf-claim-"
_BEGIN, _END = "<!-- hyperfleet ", " -->"
_FIELDS = {
    f"{PREFIX}/managed-by": "managed_by",
    f"{PREFIX}/operator-uid": "operator_uid",
    f"{PREFIX}/machine-claim": "claim",
    f"{PREFIX}/claim-uid": "claim_uid",
    f"{PREFIX}/cluster": "cluster",
    f"{PREFIX}/runner-pool": "pool",
    f"{PREFIX}/created-at": "created_at",
    f"{PREFIX}/vm-name": "vm_name",
    f"{PREFIX}/inherited-tags": "inherited_tags",
}
_UNSAFE = re.compile(r"[^a-z0-9_.+-]+")


def build_owner_tags(owner: Owner) -> tuple[str, ...]:
    """Build the tags of an owner's VM."""
    return (
        MANAGED_TAG,
        f"{OPERATOR_TAG}{owner.operator_uid[:8].lower()}",
        f"{CLAIM_TAG}{owner.claim_uid.lower()}",
    )


def build_tag(text: str) -> str:
    """Convert a text to a tag that every provider accepts."""
    return _UNSAFE.sub("-", text.lower()).strip("-.+") or "x"


def describe(owner: Owner) -> str:
    """The description of an owner's VM."""
    tags = " ".join(owner.inherited_tags)
    values = {**owner._asdict(), "managed_by": "hyperfleet", "inherited_tags": tags}
    facts = {key: values[name] for key, name in _FIELDS.items() if values[name]}
    return f"{_BEGIN}{msgspec.json.encode(facts).decode()}{_END}"


def add_owner(description: str, owner: Owner) -> str:
    """Add the owner below a description, in place of an earlier owner."""
    text = remove_owner(description)
    return f"{text}\n{describe(owner)}" if text else describe(owner)


def remove_owner(description: str) -> str:
    """Remove the owner from a description; other text stays."""
    start = description.find(_BEGIN)
    end = description.find(_END, start)
    if start < 0 or end < 0:
        return description.strip()
    rest = (description[:start].strip(), description[end + len(_END) :].strip())
    return "\n".join(filter(None, rest))


def build_released(vm: VMInfo, owner: Owner) -> tuple[list[str], str]:
    """The tags and the description of a VM without ours, for one that is no longer managed."""
    ours = set(build_owner_tags(owner))
    return [tag for tag in vm.tags if tag not in ours], remove_owner(vm.description)


def read_owner(vm: VMInfo) -> Owner | None:
    """Read the owner from the description of a VM; None if absent or invalid."""
    start = vm.description.find(_BEGIN)
    end = vm.description.find(_END, start)
    if start < 0 or end < 0:
        return None
    try:
        facts = msgspec.json.decode(vm.description[start + len(_BEGIN) : end], type=dict[str, str])
    except msgspec.DecodeError:
        return None
    if facts.get(f"{PREFIX}/managed-by") != "hyperfleet":
        return None
    values = {name: facts.get(key, "") for key, name in _FIELDS.items()}
    return Owner(
        operator_uid=values["operator_uid"],
        claim_uid=values["claim_uid"],
        claim=values["claim"],
        vm_name=values["vm_name"],
        cluster=values["cluster"],
        pool=values["pool"],
        created_at=values["created_at"],
        inherited_tags=tuple(values["inherited_tags"].split()),
    )


def find_mismatch(vm: VMInfo, owner: Owner) -> str:
    """Why a VM does not belong to an owner; empty if it does."""
    found = read_owner(vm)
    if vm.is_template:
        return "it is a template"
    if found is None:
        return "its description names no owner"
    if found.operator_uid != owner.operator_uid:
        return f"it belongs to the operator {found.operator_uid or '(unknown)'}"
    if found.claim_uid != owner.claim_uid:
        return f"it belongs to the claim {found.claim or found.claim_uid}"
    if vm.name != owner.vm_name:
        return f"its name is {vm.name!r}, not {owner.vm_name!r}"
    return _find_tag_mismatch(vm.tags, owner, inherited=found.inherited_tags)


def _find_tag_mismatch(tags: Iterable[str], owner: Owner, *, inherited: Iterable[str]) -> str:
    found, expected = {tag.lower() for tag in tags}, set(build_owner_tags(owner))
    marks = {tag for tag in found if tag.startswith((OPERATOR_TAG, CLAIM_TAG))}
    if strange := sorted(marks - expected):
        return f"its tag {strange[0]} is that of another owner"
    if expected <= found:
        return ""
    if owner.is_tagged:
        return f"its tag {min(expected - found)} is missing"
    if strange := sorted(found - {tag.lower() for tag in inherited}):
        return f"its tag {strange[0]} was set by someone else"
    return ""


def is_owned(vm: VMInfo, owner: Owner) -> bool:
    """Whether the VM belongs to the owner, by its name, description and tags."""
    return not find_mismatch(vm, owner)


def check_owned(vm: VMInfo, owner: Owner, operation: str) -> None:
    """Refuse to touch a VM that is not the owner's; never retried, never overridden.

    Raises:
        PermanentError: OWNERSHIP_MISMATCH, saying what differs.
    """
    if problem := find_mismatch(vm, owner):
        raise make_error(
            Code.OWNERSHIP_MISMATCH,
            f"VM {vm.id} ({vm.name}) does not belong to claim {owner.claim}: {problem}; "
            "it is not changed",
            operation=operation,
        )
