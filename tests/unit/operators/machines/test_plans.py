"""Placement, addresses, schedules, ownership and cloud-init, each decided without I/O."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.hypervisor.shape import StaticNetwork
from quarterdeck.kit import yaml
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.cloudinit import merge
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import Node, Owner, Power, VMInfo
from quarterdeck.operators.machines.plan import cron
from quarterdeck.operators.machines.plan.addresses import InvalidPool, choose_address
from quarterdeck.operators.machines.plan.claim import (
    DeleteAction,
    Verdict,
    compute_backoff_s,
    plan_deletion,
)
from quarterdeck.operators.machines.plan.orphans import GRACE_S, Findings, find_orphans, is_copy
from quarterdeck.operators.machines.plan.placement import (
    NodeRules,
    Request,
    choose_node,
    compute_rooms,
    fits,
)
from quarterdeck.operators.machines.sizes import parse_amount, parse_bytes

GIB = 1024**3
OWNER = Owner("op-uid-1", "claim-uid-1", "default/m1", "m1")


def node(name: str, free_gib: int = 8, *, is_online: bool = True) -> Node:
    return Node(name, is_online, 8, 8, 16 * GIB, free_gib * GIB, 100 * GIB)


def choose(*nodes: Node, **desired: object) -> str:
    values: dict[str, object] = {"allowed": frozenset(each.name for each in nodes), **desired}
    request = Request(1, 4 * GIB, 10 * GIB)
    return choose_node(compute_rooms(nodes, {}), request, NodeRules(**values)).node  # type: ignore[arg-type]


def test_node_with_fewest_siblings_wins_then_most_memory() -> None:
    assert choose(node("a", 8), node("b", 6), siblings={"a": 1}) == "b"
    assert choose(node("a", 6), node("b", 8)) == "b"
    assert choose(node("a"), node("b")) == "a"


def test_offline_full_and_forbidden_nodes_are_left_out() -> None:
    assert choose(node("a", is_online=False), node("b", 4)) == "b"
    assert choose(node("a", 2)) == ""
    assert choose(node("a"), node("b"), allowed=frozenset({"b"})) == "b"
    assert choose(node("a"), node("b"), pinned="b") == "b"


def test_memory_may_be_overcommitted() -> None:
    assert choose(node("a", 2), memory_adjustment=300) == "a"
    assert choose(node("a", 0), memory_adjustment=0) == "a"


def test_processors_may_be_overcommitted_with_the_memory() -> None:
    [room] = compute_rooms([node("a")], {})
    wide = Request(16, GIB, GIB)
    assert not fits(room, wide, 100)
    assert fits(room, wide, 101)


def test_reservations_take_room() -> None:
    reserved = {"a": [Request(1, 6 * GIB, GIB)]}
    desired = NodeRules(frozenset({"a"}))
    choice = choose_node(compute_rooms([node("a", 8)], reserved), Request(1, 4 * GIB, GIB), desired)
    assert "none of 1 nodes" in choice.problem


def test_addresses_come_from_the_pool_in_order() -> None:
    pool = StaticNetwork(pool=("10.0.0.9/24", "10.0.0.20-10.0.0.21/24"))
    assert choose_address(pool, frozenset()) == "10.0.0.9/24"
    assert choose_address(pool, frozenset({"10.0.0.9"})) == "10.0.0.20/24"
    taken = frozenset({"10.0.0.9/24", "10.0.0.20", "10.0.0.21/24"})
    assert choose_address(pool, taken) == ""


@pytest.mark.parametrize("entry", ["10.0.0.9", "x/24", "10.0.0.9-10.0.0.1/24", "10.0.0.1/99"])
def test_bad_pool_entry_is_named(entry: str) -> None:
    with pytest.raises(InvalidPool, match="pool"):
        choose_address(StaticNetwork(pool=(entry,)), frozenset())


@pytest.mark.parametrize(
    ("schedule", "active"),
    [
        ("0 9 * * *", True),
        ("0 7 * * *", False),
        ("*/15 * * * *", True),
        ("0 9 * * 1-5", False),
        ("0 9 15 * *", True),
        ("0 9 1 * 0", True),
        ("@daily", False),
    ],
)
def test_schedules_are_active_for_their_duration(schedule: str, active: bool) -> None:
    now = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)  # a Sunday
    assert cron.is_active(schedule, 3600.0, now) is active


@pytest.mark.parametrize("schedule", ["", "* * * *", "61 * * * *", "a * * * *", "*/0 * * * *"])
def test_bad_schedule_is_refused(schedule: str) -> None:
    with pytest.raises(cron.InvalidSchedule):
        cron.parse_schedule(schedule)


def vm(**changes: object) -> VMInfo:
    found = VMInfo(
        101,
        "m1",
        "uuid",
        "a",
        Power.RUNNING,
        tags=ownership.build_owner_tags(OWNER),
        description=ownership.describe(OWNER),
    )
    return found._replace(**changes)  # type: ignore[arg-type]


def test_own_vm_is_recognized_also_with_other_tags_and_case() -> None:
    assert ownership.is_owned(vm(), OWNER)
    tags = (*(tag.upper() for tag in ownership.build_owner_tags(OWNER)), "customer")
    assert ownership.is_owned(vm(tags=tags), OWNER)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"tags": ()},
        {"tags": ("hf-managed", "hf-op-other", "hf-claim-claim-uid-1")},
        {"description": ""},
        {"description": "<!-- hyperfleet {broken -->"},
        {"description": ownership.describe(OWNER._replace(operator_uid="op-uid-2"))},
        {"description": ownership.describe(OWNER._replace(claim_uid="claim-uid-2"))},
        {"is_template": True},
    ],
)
def test_changed_vm_is_not_ours(changes: dict[str, object]) -> None:
    assert not ownership.is_owned(vm(**changes), OWNER)


def test_fresh_clone_is_ours_without_tags_but_not_with_foreign_ones() -> None:
    fresh = OWNER._replace(is_tagged=False)
    assert ownership.is_owned(vm(tags=()), fresh)
    assert not ownership.is_owned(vm(tags=("hf-claim-other",)), fresh)


def test_fresh_clone_has_the_tags_of_its_template_and_no_others() -> None:
    fresh = OWNER._replace(is_tagged=False)
    text = ownership.describe(fresh._replace(inherited_tags=("Debian", "golden")))
    assert ownership.is_owned(vm(tags=("debian", "golden"), description=text), fresh)
    assert ownership.is_owned(vm(tags=(), description=text), fresh)
    assert ownership.is_owned(vm(tags=(*ownership.build_owner_tags(OWNER), "new")), fresh)
    for tags in (("production",), ("debian", "production"), ownership.build_owner_tags(OWNER)[:2]):
        assert not ownership.is_owned(vm(tags=tags, description=text), fresh)


@given(st.text(alphabet="abc <>!-\n", max_size=60))
def test_notes_of_others_survive_an_owner(notes: str) -> None:
    text = ownership.add_owner(notes, OWNER)
    assert ownership.read_owner(vm(description=text)) == OWNER
    assert ownership.remove_owner(text) == ownership.remove_owner(notes) == notes.strip()
    assert ownership.add_owner(text, OWNER) == text


@given(st.text(), st.lists(st.text(max_size=20), max_size=5))
def test_strange_descriptions_and_tags_never_fail_and_never_match(
    description: str, tags: list[str]
) -> None:
    assert not ownership.is_owned(vm(description=description, tags=tuple(tags)), OWNER)


@given(st.text(min_size=1))
def test_tags_are_safe(text: str) -> None:
    tag = ownership.build_tag(text)
    assert tag
    assert set(tag) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.+-")


def orphans(*vms: VMInfo, first_seen: dict[int, float], now: float) -> list[int]:
    found = find_orphans(
        vms,
        operator_uid="op-uid-1",
        find_vm=lambda uid: 101 if uid == "alive" else None,
        first_seen=first_seen,
        now=now,
    )
    return [each.vm.id for each in found.due]


def test_orphans_are_due_after_their_grace_only() -> None:
    assert orphans(vm(), first_seen={}, now=5000.0) == []
    assert orphans(vm(), first_seen={101: 0.0}, now=GRACE_S - 1) == []
    assert orphans(vm(), first_seen={101: 0.0}, now=GRACE_S) == [101]


def test_vms_of_others_and_of_living_claims_are_no_orphans() -> None:
    other = ownership.describe(OWNER._replace(operator_uid="op-uid-2"))
    alive = OWNER._replace(claim_uid="alive")
    living = vm(description=ownership.describe(alive), tags=ownership.build_owner_tags(alive))
    seen = {101: 0.0}
    assert orphans(vm(description=other), first_seen=seen, now=9e9) == []
    assert orphans(living, first_seen=seen, now=9e9) == []
    assert orphans(vm(tags=()), first_seen=seen, now=9e9) == []
    assert orphans(vm(tags=(), power=Power.STOPPED), first_seen=seen, now=9e9) == [101]
    fresh = ownership.describe(OWNER._replace(inherited_tags=("golden",)))
    bare = vm(tags=("golden",), power=Power.STOPPED, description=fresh)
    assert orphans(bare, first_seen=seen, now=9e9) == [101]
    assert orphans(bare._replace(tags=("production",)), first_seen=seen, now=9e9) == []


def test_second_vm_of_a_living_claim_is_a_copy_if_it_was_configured() -> None:
    alive = OWNER._replace(claim_uid="alive")
    copy = vm(description=ownership.describe(alive), tags=ownership.build_owner_tags(alive))
    bare = copy._replace(tags=(), power=Power.STOPPED)

    def find(second: VMInfo) -> Findings:
        return find_orphans(
            [second._replace(id=102)],
            operator_uid="op-uid-1",
            find_vm=lambda uid: 101,
            first_seen={},
            now=5000.0,
        )

    assert [is_copy(each) for each in find(copy).due] == [True]
    assert [is_copy(each) for each in find(copy._replace(power=Power.STOPPED)).due] == [True]
    assert find(bare).due == ()  # left behind by us: it has its grace period
    assert [is_copy(each) for each in find(bare).orphans] == [False]


def test_deletion_never_touches_what_is_not_ours() -> None:
    for was_asked in (False, True):
        assert plan_deletion(Verdict.FOREIGN, was_asked=was_asked) is DeleteAction.LEAVE
        assert plan_deletion(Verdict.MISSING, was_asked=was_asked) is DeleteAction.DONE


@given(st.integers(0, 100), st.integers(0, 2**32))
def test_backoff_stays_within_its_limits(attempts: int, seed: int) -> None:
    assert 0 < compute_backoff_s(attempts, random.Random(seed)) <= 300.0


def test_sizes_are_read_as_hypervisors_count() -> None:
    assert parse_bytes("8Gi") == parse_bytes("8G") == 8 * GIB
    assert parse_amount("25%", 10, up=True) == 3
    assert parse_amount("25%", 10, up=False) == 2
    assert parse_amount(4, 10, up=True) == 4


def test_cloud_init_documents_merge_by_structure() -> None:
    own = {"hostname": "m1", "packages": ["a"], "users": {"x": 1}}
    given_ = {"packages": ["b"], "users": {"y": 2}, "hostname": "theirs"}
    assert merge(own, given_) == {
        "hostname": "theirs",
        "packages": ["a", "b"],
        "users": {"x": 1, "y": 2},
    }
    assert yaml.load(yaml.dump(merge(own, given_))) == merge(own, given_)


def test_every_code_belongs_to_one_class() -> None:
    for code in Code:
        error = make_error(code, "x")
        assert type(error) is not HypervisorError
        assert error.code is code


def test_schedule_with_an_endless_duration_is_read_in_few_steps() -> None:
    now = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    century = 100 * 366 * 86400.0
    assert cron.is_active("0 0 29 2 *", century, now)
    assert not cron.is_active("0 0 30 2 *", 1e300, now)


def test_node_that_a_claim_names_wrongly_is_shown_beside_the_right_ones() -> None:
    desired = NodeRules(allowed=frozenset({"sim-1", "sim-2"}), pinned="ü")
    choice = choose_node([], Request(1, 1, 1), desired)
    assert choice.problem == "spec.nodeName is 'ü', but nodes with the template are: sim-1, sim-2"


def test_node_that_is_offline_is_named() -> None:
    pinned = NodeRules(allowed=frozenset({"a"}), pinned="a")
    choice = choose_node([], Request(1, 1, 1), pinned)
    assert choice.problem == "node a of spec.nodeName is offline"
    free = NodeRules(allowed=frozenset({"b", "a"}))
    choice = choose_node([], Request(1, 1, 1), free)
    assert choice.problem == "no node with the template is online: a, b"


def test_disk_may_fill_the_storage_and_no_more() -> None:
    [room] = compute_rooms([node("a")], {})
    assert fits(room, Request(1, GIB, 100 * GIB))
    assert not fits(room, Request(1, GIB, 100 * GIB + 1))
