"""How requests prove who sends them: by an API token, or by a ticket got for a password."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.drivers.proxmox.records import Ticket
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import AccessData

TICKET_LIFE_S = 6000.0
"""Tickets are valid for two hours; they are replaced earlier."""
Pairs = tuple[tuple[str, str], ...]
Login = Callable[[dict[str, str]], Awaitable[Ticket]]


class Access(Protocol):
    """What requests carry."""

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The header fields of a request; `login` asks the server for a ticket."""
        ...

    def renew(self) -> bool:
        """The server refused them: whether it is worth trying with new ones."""
        ...


class TokenAccess:
    """An API token, which needs no ticket."""

    def __init__(self, token_id: str, secret: Secret[str]) -> None:
        self._id = token_id
        self._secret = secret

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The token."""
        return (("authorization", f"PVEAPIToken={self._id}={self._secret.reveal()}"),)

    def renew(self) -> bool:
        """A token stays what it is."""
        return False


class TicketAccess:
    """A ticket for user and password, replaced before it expires and when it is refused."""

    def __init__(self, username: str, password: Secret[str], clock: Clock) -> None:
        self._username = username
        self._password = password
        self._clock = clock
        self._ticket: Secret[Ticket] | None = None
        self._since = 0.0

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The ticket as a cookie, and for changes the proof that they are meant."""
        if self._ticket is None or self._clock.monotonic() - self._since > TICKET_LIFE_S:
            fields = {"username": self._username, "password": self._password.reveal()}
            self._since = self._clock.monotonic()
            self._ticket = Secret(await login(fields))
        ticket = self._ticket.reveal()
        cookie = ("cookie", f"PVEAuthCookie={ticket.ticket}")
        return (cookie, ("csrfpreventiontoken", ticket.csrf)) if is_write else (cookie,)

    def renew(self) -> bool:
        """Forget the ticket; false if there was none."""
        had, self._ticket = self._ticket is not None, None
        return had


def choose_access(access: AccessData, clock: Clock) -> Access:
    """The way that the credentials allow, the token first.

    Raises:
        ConfigurationError: UNAUTHORIZED if they are not of a form that Proxmox VE accepts.
    """
    if access.token_id:
        user, mark, name = access.token_id.partition("!")
        if not mark or not name or "@" not in user:
            raise make_error(Code.UNAUTHORIZED, "invalid tokenId: expected USER@REALM!TOKENID")
        return TokenAccess(access.token_id, access.token_secret)
    if access.username:
        if "@" not in access.username:
            raise make_error(Code.UNAUTHORIZED, "invalid username: expected USER@REALM")
        return TicketAccess(access.username, access.password, clock)
    raise make_error(
        Code.UNAUTHORIZED,
        "Proxmox VE needs an API token (tokenId and tokenSecret) or a user name and a password",
    )
