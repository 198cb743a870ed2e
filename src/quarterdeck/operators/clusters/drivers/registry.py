"""Checks an image registry by Docker's HTTP API v2: health, login and repositories.

Bodies are bounded, every request has a time limit, redirects are followed a few times and never
take a password to another host.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from quarterdeck.hubstate.registry_writes import RegistryFacts
from quarterdeck.kit import http, json
from quarterdeck.kit.redaction import Masker, Secret
from quarterdeck.operators.clusters.drivers.challenge import (
    Challenge,
    parse_challenge,
    parse_next_page,
)
from quarterdeck.operators.clusters.ports import RegistryAddress, RegistryCheck, RegistryReport

_MAX_BODY = 4 * 1024 * 1024
_MAX_REDIRECTS = 3
_MAX_PAGES = 100
_PAGE = 100
_SHOWN = 20
"""Names are stored only if the registry has at most this many repositories."""
_PRODUCTS = ("harbor", "artifactory", "nexus")
_CATALOG_SCOPE = "registry:catalog:*"


class _Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes
    took_ms: int
    is_moved: bool = False
    """Whether a redirect led to another host."""


class DockerRegistry:
    """Implements `Registry` over HTTP; each check opens its own client, because checks are rare."""

    async def check(self, address: RegistryAddress, wanted: RegistryCheck) -> RegistryReport:
        """Check a registry; failures are in the report and never raised."""
        try:
            tls = _build_context(address)
        except (ssl.SSLError, ValueError) as error:
            return _build_failure(f"invalid CA certificate: {error}")
        client = http.Client(tls=tls, pool=2, connect_timeout_s=wanted.timeout_s)
        try:
            async with asyncio.timeout(wanted.timeout_s):
                return await _Check(client, address, wanted).run()
        except TimeoutError:
            return _build_failure(f"request failed: no answer within {wanted.timeout_s:g} s")
        except (http.HttpError, ValueError) as error:
            masker = Masker(address.password)
            return _build_failure(
                f"request failed: {masker.mask(str(error) or type(error).__name__)}"
            )
        finally:
            await client.aclose()


class _Check:
    """The state of one check."""

    def __init__(
        self, client: http.Client, address: RegistryAddress, wanted: RegistryCheck
    ) -> None:
        self._client = client
        self._address = address
        self._wanted = wanted
        self._features: dict[str, bool] = {}
        self._bearer = ""
        self._has_more = False

    async def run(self) -> RegistryReport:
        answer, challenge = await self._probe()
        if answer.status not in (200, 401):
            return _build_failure(f"unexpected status code: {answer.status}", answer.took_ms)
        self._note_features(answer)
        authenticated = answer.status == 200
        if answer.status == 401:
            self._features["requires_auth"] = True
            authenticated = not self._address.has_credentials
        names: list[str] = []
        if self._wanted.catalog_limit is not None and answer.status == 200:
            names = await self._read_catalog(self._wanted.catalog_limit, challenge)
        masker = self._build_masker()
        facts = RegistryFacts(
            available=True,
            response_time=answer.took_ms,
            version=masker.mask(answer.headers.get("docker-distribution-api-version", "")),
            repository_count=len(names),
            features=dict(sorted(self._features.items())),
            repositories=tuple(map(masker.mask, names)) if len(names) <= _SHOWN else (),
        )
        return RegistryReport(
            facts=facts, authenticated=authenticated, note=self._describe_catalog()
        )

    def _describe_catalog(self) -> str:
        if self._wanted.catalog_limit is None:
            return ""
        if not self._features.get("catalog_accessible"):
            return (
                "its repositories cannot be listed: name credentials that may read the catalog in "
                "spec.credentialsRef"
            )
        return "the count ends at spec.monitoring.maxCatalogEntries" if self._has_more else ""

    def _build_masker(self) -> Masker:
        """Build a masker of the credentials: a registry may repeat them in names and versions."""
        password = self._address.password
        pair = f"{self._address.username}:{password.reveal()}" if password.reveal() else ""
        return Masker(password, Secret(pair), Secret(self._bearer))

    async def _probe(self) -> tuple[_Answer, Challenge | None]:
        """Try paths until one answers; with a token where the registry requires one."""
        answer, path = _Answer(0, {}, b"", 0), ""
        for path in self._wanted.paths:
            answer = await self._get(path)
            if answer.status in (200, 401):
                break
        if answer.is_moved:  # its challenge would name where the password is sent to
            return answer, None
        challenge = parse_challenge(answer.headers.get("www-authenticate", ""))
        if answer.status != 401 or challenge is None or challenge.scheme != "bearer":
            return answer, challenge
        self._features["token_auth"] = True
        if not await self._log_in(challenge, challenge.scope):
            return answer, challenge
        again = await self._get(path)
        self._features["requires_auth"] = True
        return msgspec.structs.replace(again, took_ms=answer.took_ms), challenge

    async def _log_in(self, challenge: Challenge, scope: str) -> bool:
        """Request a token; returns whether the server gave a usable one."""
        if not challenge.realm.startswith(("https://", "http://")):
            return False
        answer = await self._get(challenge.build_token_url(scope), is_login=True)
        if answer.status != 200:
            return False
        try:
            document = json.decode(answer.body)
            token = str(document.get("token") or document.get("access_token") or "")
        except (ValueError, AttributeError):
            return False
        if not token.isascii() or not token.isprintable():
            return False
        self._bearer = token
        return bool(token)

    async def _read_catalog(self, limit: int, challenge: Challenge | None) -> list[str]:
        """Names of repositories, page by page, up to the limit."""
        if challenge is not None and challenge.scheme == "bearer":
            await self._log_in(challenge, _CATALOG_SCOPE)
        names: list[str] = []
        target = f"/v2/_catalog?n={min(limit, _PAGE)}"
        for _ in range(_MAX_PAGES):
            answer = await self._get(target)
            page = _parse_repositories(answer)
            self._features["catalog_accessible"] = page is not None
            if page is None:
                break
            names.extend(page)
            link = parse_next_page(answer.headers.get("link", ""))
            if link:
                self._features["pagination"] = True
            self._has_more = bool(link) or len(names) > limit
            if not link or not page or len(names) >= limit:
                break
            target = urljoin(f"{self._address.url}/v2/_catalog", link)
        return names[:limit]

    def _note_features(self, answer: _Answer) -> None:
        headers = answer.headers
        if headers.get("docker-distribution-api-version"):
            self._features["docker_v2_api"] = True
        server = headers.get("server", "").lower()
        for product in _PRODUCTS:
            if product in server:
                self._features[f"{product}_detected"] = True
        if headers.get("docker-content-digest"):
            self._features["content_digest"] = True
        if headers.get("link"):
            self._features["pagination"] = True

    async def _get(self, target: str, *, is_login: bool = False) -> _Answer:
        """Send a request and follow redirects; `took_ms` ends with the first response head."""
        url = target if "://" in target else urljoin(f"{self._address.url}/", target.lstrip("/"))
        origin, began, took_ms = _get_origin(url), time.monotonic(), 0
        for number in range(_MAX_REDIRECTS + 1):
            is_moved = _get_origin(url) != origin
            response = await self._client.request(
                "GET", url, headers=self._build_headers(url, is_login=is_login and not is_moved)
            )
            async with response:
                if number == 0:
                    took_ms = int((time.monotonic() - began) * 1000)
                headers = {name.lower(): value for name, value in response.headers.items()}
                location = headers.get("location", "")
                if response.status not in (301, 302, 303, 307, 308) or not location:
                    body = await response.read(_MAX_BODY)
                    return _Answer(response.status, headers, body, took_ms, is_moved)
            url = urljoin(url, location)
        raise ValueError(f"more than {_MAX_REDIRECTS} redirects, the last to {url}")

    def _build_headers(self, url: str, *, is_login: bool) -> list[tuple[str, str]]:
        headers = [("Accept", "application/json"), ("User-Agent", "quarterdeck-hub")]
        is_ours = _get_origin(url) == _get_origin(self._address.url)
        if self._bearer and is_ours and not is_login:
            headers.append(("Authorization", f"Bearer {self._bearer}"))
        elif self._address.has_credentials and (is_ours or (is_login and _is_safe(url))):
            pair = f"{self._address.username}:{self._address.password.reveal()}"
            encoded = base64.b64encode(pair.encode()).decode()
            headers.append(("Authorization", f"Basic {encoded}"))
        return headers


def _is_safe(url: str) -> bool:
    """Whether a password may be sent to a token server: over TLS, or on loopback."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in ("127.0.0.1", "::1", "localhost")


def _get_origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _build_context(address: RegistryAddress) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if address.certificate_authority:
        context.load_verify_locations(cadata=address.certificate_authority.decode())
    if address.skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _parse_repositories(answer: _Answer) -> list[str] | None:
    if answer.status != 200:
        return None
    try:
        document: Any = json.decode(answer.body)
        found = document["repositories"]
        return [str(each) for each in found or ()]
    except (ValueError, KeyError, TypeError):
        return None


def _build_failure(error: str, took_ms: int = 0) -> RegistryReport:
    facts = RegistryFacts(available=False, response_time=took_ms, error=error)
    return RegistryReport(facts=facts)
