"""Admission webhooks: tickets get their defaults, and what must not change is refused."""

import asyncio

import msgspec

from quarterdeck.client import Client, load_config
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, Struct, replace
from quarterdeck.runtime import Context, Controller, Denied, Manager, Registration, Review, Webhooks

TEAMS = {"incident": "on-call", "question": "support"}


class TicketSpec(Struct, frozen=True, kw_only=True):
    type: str = "question"
    team: str = ""
    reporter: str = ""


class TicketStatus(Struct, frozen=True, kw_only=True):
    assigned_to: str = ""
    observed_generation: int = 0
    conditions: Conditions = ()


class Ticket(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Ticket", plural="tickets")
    spec: TicketSpec = TicketSpec()
    status: TicketStatus = TicketStatus()


def fill(review: Review[Ticket]) -> Ticket:
    """Set the team by the type of the ticket, and the reporter by who creates it."""
    ticket = review.object
    team = ticket.spec.team or TEAMS.get(ticket.spec.type, "support")
    reporter = ticket.spec.reporter or review.user.username
    spec = msgspec.structs.replace(ticket.spec, team=team, reporter=reporter)
    return replace(ticket, spec=spec)


def check(review: Review[Ticket]) -> None:
    """Refuse unknown types and changes of the reporter; warn where people will wait."""
    spec = review.object.spec
    if spec.type not in TEAMS:
        raise Denied(f"spec.type: {spec.type!r} is unknown; use one of {', '.join(TEAMS)}")
    if review.old is not None and review.old.spec.reporter != spec.reporter:
        raise Denied("spec.reporter: the reporter of a ticket never changes; create another ticket")
    if spec.type == "incident" and spec.team != "on-call":
        review.warn(f"spec.team: {spec.team} answers incidents on working days only")


async def reconcile(ticket: Ticket, ctx: Context[Ticket]) -> None:
    ctx.status.set(assigned_to=ticket.spec.team)


def build_webhooks() -> Webhooks:
    """The server of both, which registers itself with a certificate of its own."""
    webhooks = Webhooks(registration=Registration("tickets.example.com"))
    webhooks.mutate(Ticket, fill)
    webhooks.validate(Ticket, check)
    return webhooks


controller = Controller(reconcile=reconcile, for_=Ticket)


async def main() -> None:
    async with Client(load_config()) as client:
        manager = Manager(client, name="tickets", webhooks=build_webhooks())
        manager.add(controller)
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
