"""Authentication: a bearer token, headers of a trusted proxy, or anonymous.

A token is looked up among those of this process, then verified by OpenID Connect, then by the API
server's TokenReview. Headers of an OAuth proxy count only if the connection comes from one of the
trusted networks; from anywhere else they are refused, not ignored, so that a proxy that is missing
from the list shows up as an error.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from quarterdeck.inventory.access.principal import MASTERS, Principal
from quarterdeck.kit.http import Request
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.services.hub.errors import Unauthenticated

ANONYMOUS = Principal(username="system:anonymous", groups=("system:unauthenticated",))
REQUIRED = "authentication required"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class TokenVerifier(Protocol):
    """Finds the principal of a token: by OpenID Connect, or by the API server."""

    async def verify(self, token: str) -> Principal | None:
        """The principal of a token; None if this verifier does not recognize it.

        Raises:
            Unavailable: if the token cannot be verified now.
        """
        ...


class ProxyHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """The user headers of an OAuth proxy, and the networks they are trusted from."""

    trusted: tuple[Network, ...] = ()
    user: str = "X-Forwarded-User"
    email: str = "X-Forwarded-Email"
    groups: str = "X-Forwarded-Groups"

    def read(self, request: Request) -> Principal | None:
        """The principal that a trusted proxy names; None without its headers.

        Raises:
            Unauthenticated: if another peer sends them, or one is sent twice.
        """
        names = (self.user, self.email, self.groups)
        if not any(name in request.headers for name in names):
            return None
        if not self._is_trusted(request.peer.host):
            raise Unauthenticated(
                f"{self.user} is accepted from trusted proxies only; "
                "add the proxy's network to OAUTH_TRUSTED_PROXIES"
            )
        if any(len(request.headers.get_all(name)) > 1 for name in names):
            raise Unauthenticated(f"one of {', '.join(names)} was sent twice")
        user = (request.headers.get(self.user) or "").strip()
        if not user:
            return None
        groups = (request.headers.get(self.groups) or "").split(",")
        return Principal(
            username=user,
            email=(request.headers.get(self.email) or "").strip(),
            groups=remove_masters(each.strip() for each in groups if each.strip()),
        )

    def _is_trusted(self, host: str) -> bool:
        address = parse_address(host.partition("%")[0])
        if address is None:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.trusted)


class Directory(Protocol):
    """Finds the groups of users that an OAuth proxy names without groups."""

    async def resolve(self, principal: Principal) -> Principal:
        """The principal with the name and the groups that the directory has for it.

        Raises:
            Unavailable: if the directory cannot be read now.
        """
        ...


class Authenticator:
    """Authenticates requests."""

    def __init__(
        self,
        *,
        tokens: Mapping[str, Principal] | None = None,
        verifiers: Sequence[TokenVerifier] = (),
        proxy: ProxyHeaders | None = None,
        directory: Directory | None = None,
        allows_anonymous: bool = False,
    ) -> None:
        self._tokens = {_digest(token): who for token, who in (tokens or {}).items()}
        self._verifiers = verifiers
        self._proxy = proxy or ProxyHeaders()
        self._directory = directory
        self._allows_anonymous = allows_anonymous

    async def authenticate(self, request: Request) -> Principal | None:
        """The principal of a request; None without credentials, unless anonymous access is allowed.

        Raises:
            Unauthenticated: if the credentials are invalid.
            Unavailable: if they cannot be verified now.
        """
        proxied = self._proxy.read(request)
        if proxied is not None:
            return await self._directory.resolve(proxied) if self._directory else proxied
        given = request.headers.get("authorization")
        if given is not None:
            return await self._verify(given)
        return ANONYMOUS if self._allows_anonymous else None

    async def _verify(self, header: str) -> Principal:
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated("the Authorization header must be: Bearer TOKEN")
        digest = _digest(token)
        for known, principal in self._tokens.items():
            if hmac.compare_digest(known, digest):
                return principal
        for verifier in self._verifiers:
            found = await verifier.verify(token)
            if found is not None:
                return found
        raise Unauthenticated("the bearer token is not valid")


def remove_masters(groups: Iterable[str]) -> tuple[str, ...]:
    """Remove `system:masters` from groups of an external provider: only the API server names it."""
    return tuple(each for each in groups if each != MASTERS)


def parse_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, separated by commas.

    Raises:
        ValueError: naming the one that is none.
    """
    parts = (each.strip() for each in text.split(","))
    return tuple(ipaddress.ip_network(each, strict=False) for each in parts if each)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
