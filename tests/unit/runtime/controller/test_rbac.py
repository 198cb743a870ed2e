"""Rules of a role, from what a controller declares."""

from typing import Any

from quarterdeck.client.interfaces import Exchange
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.reconcile.finalizer import Finalizer
from quarterdeck.wire.path import ResourcePath


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")


class Bare(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Bare", plural="bares")


def test_rules_come_from_declarations() -> None:
    async def nothing(thing: Thing, ctx: Any) -> None: ...

    controller = Controller(reconcile=nothing, for_=Thing, owns=[Bare])
    rules = {(rule.group, rule.resource): rule.verbs for rule in rbac.build_rules([controller])}
    assert rules["example.com", "things"] == ("get", "list", "watch")
    assert rules["example.com", "things/status"] == ("patch", "update")
    assert "create" in rules["example.com", "bares"]
    used = [rbac.Use("example.com", "things", "delete")]
    assert rbac.find_uncovered(used, rbac.build_rules([controller])) == used


def test_operators_that_apply_need_no_update() -> None:
    rules = [
        rbac.Rule("example.com", "things", ("get", "patch", "update")),
        rbac.Rule("example.com", "things/finalizers", ("update",)),
    ]
    first, second = rbac.drop_updates(rules)
    assert first.verbs == ("get", "patch")
    assert second.verbs == ("update",)


class Other(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="other.com", version="v1", kind="Other", plural="others")


async def do_nothing(thing: Any, ctx: Any) -> None:
    """Do nothing."""


def test_every_part_of_a_declaration_has_its_rules() -> None:
    controller = Controller(
        reconcile=do_nothing,
        for_=Thing,
        finalizers=[Finalizer("example.com/x", do_nothing)],
        reads=[Bare],
        gets=[Other],
    )
    rules = {(rule.group, rule.resource): rule.verbs for rule in rbac.build_rules([controller])}
    assert rules["example.com", "things"] == ("get", "list", "patch", "update", "watch")
    assert ("example.com", "things/finalizers") not in rules, "it owns nothing"
    assert rules["example.com", "bares"] == ("get", "list", "watch")
    assert rules["other.com", "others"] == ("get",)
    everything = ("create", "delete", "get", "list", "patch", "update", "watch")
    writer = Controller(reconcile=do_nothing, for_=Thing, writes=[Other])
    for build in (rbac.build_rules([writer]), rbac.build_rules([controller], writes=[Other])):
        assert rbac.Rule("other.com", "others", everything) in build


def test_rules_of_what_is_switched_off_are_left_out() -> None:
    controller = Controller(reconcile=do_nothing, for_=Thing)
    rules = rbac.build_rules(
        [controller], events=False, leader_election=False, secured_metrics=False
    )
    assert {rule.resource for rule in rules} == {"things", "things/status"}


def test_requests_for_no_resource_need_no_rule() -> None:
    recorder = rbac.UsageRecorder()
    version = ResourcePath("", "", "", "", "")
    status = ResourcePath("example.com", "v1", "things", "ns", "a", "status")
    for path in (version, status):
        recorder.after(Exchange("patch", "PATCH", "host", path, 200, 0.01, 0, 10))
    assert recorder.uses == {rbac.Use("example.com", "things/status", "patch")}
