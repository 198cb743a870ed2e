"""The address of Redis as a URL: one server, Sentinel or Cluster. Pure.

    redis://[user:password@]host[:6379][/db]
    redis+sentinel://[user:password@]host[:26379],host.../master[/db]
    redis+cluster://[user:password@]host[:6379],host...

`rediss` instead of `redis` means TLS; `?ca=FILE`, `?cert=FILE`, `?key=FILE` and `?verify=false`
say how. `?replicas=1` acknowledges a write when one replica has it.
"""

import enum
from collections.abc import Mapping
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from quarterdeck.kit.digits import parse_digits
from quarterdeck.kit.redaction import Secret

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
_OPTIONS = ("ca", "cert", "key", "verify", "replicas")


class Mode(enum.StrEnum):
    """How Redis is deployed."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


class InvalidAddress(ValueError):
    """Raised when a Redis URL is invalid; the message never contains the password."""


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """How the server's certificate is verified, and the client certificate."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    verify: bool = True


class RedisAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to connect."""

    hosts: tuple[tuple[str, int], ...]
    mode: Mode = Mode.SINGLE
    db: int = 0
    master: str = ""
    username: str = ""
    password: Secret[str] = Secret("")
    tls: Tls | None = None
    replicas: int = 0
    """How many replicas must have a write before it is acknowledged, so that a failover does not
    lose it. Not for Redis Cluster."""

    def __str__(self) -> str:
        """The address without its credentials."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        scheme = "rediss" if self.tls else "redis"
        mode = "" if self.mode is Mode.SINGLE else f"+{self.mode}"
        master = f"/{self.master}" if self.master else ""
        return f"{scheme}{mode}://{hosts}{master}/{self.db}"

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse a URL.

        Raises:
            InvalidAddress: if it is invalid; the message names the part.
        """
        scheme, _, rest = url.partition("://")
        base, _, mode = scheme.partition("+")
        if base not in ("redis", "rediss") or mode not in ("", "sentinel", "cluster") or not rest:
            raise InvalidAddress(
                "a Redis URL must begin with redis://, redis+sentinel:// or redis+cluster://;"
                " with rediss in place of redis for TLS"
            )
        parts = urlsplit(f"redis://{rest}")
        user, _, place = parts.netloc.rpartition("@")
        name, _, password = user.partition(":")
        chosen = Mode(mode) if mode else Mode.SINGLE
        options = dict(parse_qsl(parts.query))
        if unknown := set(options) - set(_OPTIONS):
            known = ", ".join(sorted(_OPTIONS))
            raise InvalidAddress(
                f"unknown option {sorted(unknown)[0]!r} in the Redis URL: must be one of {known}"
            )
        path = [unquote(part) for part in parts.path.split("/") if part]
        master = path.pop(0) if chosen is Mode.SENTINEL and path else ""
        if chosen is Mode.SENTINEL and not master:
            raise InvalidAddress(
                "a redis+sentinel URL must name the master: redis+sentinel://host/master"
            )
        return cls(
            hosts=_parse_hosts(place, SENTINEL_PORT if chosen is Mode.SENTINEL else DEFAULT_PORT),
            mode=chosen,
            db=_parse_database(path, chosen),
            master=master,
            username=unquote(name),
            password=Secret(unquote(password)),
            tls=_parse_tls(options) if base == "rediss" else None,
            replicas=_count_replicas(options, chosen),
        )


def _parse_hosts(text: str, default: int) -> tuple[tuple[str, int], ...]:
    found = []
    for part in text.split(","):
        try:
            where = urlsplit(f"//{part}")
            host, port = where.hostname, where.port
        except ValueError as error:
            raise InvalidAddress(
                f"{part!r} in the Redis URL is not a host and port: {error}"
            ) from error
        if not host:
            raise InvalidAddress(f"{part!r} in the Redis URL has no host")
        found.append((host, port or default))
    return tuple(found)


def _parse_database(path: list[str], mode: Mode) -> int:
    if not path:
        return 0
    number = parse_digits(path[0])
    if len(path) > 1 or number is None:
        raise InvalidAddress(f"the path of the Redis URL must be a database number, not {path!r}")
    if mode is Mode.CLUSTER and path[0] != "0":
        raise InvalidAddress(f"the database must be 0 for redis+cluster, not {path[0]}")
    return number


def _count_replicas(options: Mapping[str, str], mode: Mode) -> int:
    text = options.get("replicas", "0")
    if not text.isdecimal() or int(text) > 16:
        raise InvalidAddress(
            f"replicas in the Redis URL must be a number from 0 to 16, not {text!r}"
        )
    if mode is Mode.CLUSTER and int(text):
        raise InvalidAddress("replicas in the Redis URL cannot be used with redis+cluster")
    return int(text)


def _parse_tls(options: Mapping[str, str]) -> Tls:
    verify = options.get("verify", "true").lower() not in ("false", "0", "no")
    return Tls(
        ca=options.get("ca", ""),
        cert=options.get("cert", ""),
        key=options.get("key", ""),
        verify=verify,
    )
