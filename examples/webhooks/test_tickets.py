"""Handlers as plain functions, and both of them called by a real API server."""

import pytest
from tickets import Ticket, TicketSpec, build_webhooks, check, controller, fill

from quarterdeck.client import Client
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Denied, Manager, Review
from quarterdeck.testing import eventually
from quarterdeck.wire.status import ApiError

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def ticket(**spec: str) -> Ticket:
    return Ticket(metadata=ObjectMeta(name="t", namespace="default"), spec=TicketSpec(**spec))


def test_team_and_reporter_are_filled_in() -> None:
    filled = fill(Review.of(ticket(type="incident"), user="ada"))
    assert filled.spec == TicketSpec(type="incident", team="on-call", reporter="ada")


def test_the_reporter_never_changes() -> None:
    with pytest.raises(Denied, match=r"spec\.reporter"):
        check(Review.of(ticket(reporter="bob"), old=ticket(reporter="ada")))


def test_slow_teams_are_warned_of() -> None:
    review = Review.of(ticket(type="incident", team="support"))
    check(review)
    assert review.warnings == ["spec.team: support answers incidents on working days only"]


async def test_the_api_server_asks_before_it_stores(client: Client) -> None:
    await client.resource(CRDS).create(crd.build_manifest([Ticket]))
    manager = Manager(client, name="tickets", webhooks=build_webhooks())
    manager.add(controller)
    async with manager.running():

        async def is_asked() -> bool:
            found = await client.create(ticket(type="incident"))
            return found.spec.team == "on-call"

        await eventually(is_asked)
        with pytest.raises(ApiError, match="use one of incident, question"):
            await client.patch(await client.get(Ticket, "t", "default"), {"spec": {"type": "joke"}})
