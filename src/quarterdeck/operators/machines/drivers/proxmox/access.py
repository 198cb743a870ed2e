"""Authentication of requests: by an API token, or by a ticket that a password is exchanged for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.drivers.proxmox.records import Ticket
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import AccessData

TICKET_LIFE_S = 6000.0
"""Age at which a ticket is replaced; Proxmox VE accepts it for two hours."""
FIRST_PAUSE_S, LAST_PAUSE_S = 30.0, 300.0
"""How long no login is tried after a refused one; twice as long after each further one."""
Pairs = tuple[tuple[str, str], ...]
Login = Callable[[dict[str, str]], Awaitable[Ticket]]


class Access(Protocol):
    """Builds the header fields that authenticate requests."""

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The header fields of a request; `login` asks the server for a ticket."""
        ...

    def renew(self, refused: Pairs) -> bool:
        """Whether a request that was refused with these header fields should be sent again."""
        ...


class TokenAccess:
    """Authenticates by an API token, which needs no login."""

    def __init__(self, token_id: str, secret: Secret[str]) -> None:
        self._id = token_id
        self._secret = secret

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The authorization header with the token."""
        return (("authorization", f"PVEAPIToken={self._id}={self._secret.reveal()}"),)

    def renew(self, refused: Pairs) -> bool:
        """False: a refused token cannot be renewed."""
        return False


class TicketAccess:
    """Authenticates by a ticket, replaced before it expires and when it is refused.

    Requests that need a new ticket at once share one login, also one that fails. After a refused
    password no login is tried for a while, because failed logins may lock the account.
    """

    def __init__(self, username: str, password: Secret[str], clock: Clock) -> None:
        self._username = username
        self._password = password
        self._clock = clock
        self._ticket: Secret[Ticket] | None = None
        self._since = 0.0
        self._login = asyncio.Lock()
        self._failure: HypervisorError | None = None
        self._failed_at = 0.0
        self._refusals = 0
        """How many logins in a row were refused."""

    async def headers(self, login: Login, *, is_write: bool) -> Pairs:
        """The ticket as a cookie, and for writes the token against cross-site request forgery."""
        asked_at = self._clock.monotonic()
        async with self._login:
            ticket = (await self._current(login, asked_at)).reveal()
        cookie = _build_cookie(ticket)
        return (cookie, ("csrfpreventiontoken", ticket.csrf)) if is_write else (cookie,)

    async def _current(self, login: Login, asked_at: float) -> Secret[Ticket]:
        now = self._clock.monotonic()
        if self._ticket is None or now - self._since > TICKET_LIFE_S:
            self._check_failure(asked_at, now)
            fields = {"username": self._username, "password": self._password.reveal()}
            try:
                self._ticket = Secret(await login(fields))
            except HypervisorError as error:
                self._failure, self._failed_at = error, self._clock.monotonic()
                self._refusals = self._refusals + 1 if error.code is Code.UNAUTHORIZED else 0
                raise
            self._since, self._failure, self._refusals = now, None, 0
        return self._ticket

    def _check_failure(self, asked_at: float, now: float) -> None:
        """Raise the failure of a login that was awaited, or that was refused a short time ago."""
        failure = self._failure
        if failure is None:
            return
        if self._failed_at >= asked_at or now - self._failed_at < self._compute_pause_s():
            raise make_error(failure.code, failure.message, operation=failure.operation)

    def _compute_pause_s(self) -> float:
        if self._refusals == 0:
            return 0.0
        return min(LAST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._refusals - 1, 10))

    def renew(self, refused: Pairs) -> bool:
        """Drop the refused ticket, unless another request has replaced it already."""
        if self._ticket is not None and _build_cookie(self._ticket.reveal()) in refused:
            self._ticket = None
        return True


def _build_cookie(ticket: Ticket) -> tuple[str, str]:
    return ("cookie", f"PVEAuthCookie={ticket.ticket}")


def choose_access(access: AccessData, clock: Clock) -> Access:
    """Choose the authentication by the credentials; a token wins over a password.

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
