"""Rules of a role, from what a controller declares."""

from typing import Any

from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.controller.controller import Controller


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
