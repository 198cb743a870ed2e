"""Registration tokens of GitHub: fetched for each request of a machine, never stored."""

from datetime import timedelta

import msgspec

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.hypervisor.bootstrap import GithubApp
from quarterdeck.apis.hypervisor.references import SecretKeySelector
from quarterdeck.client.client import Client
from quarterdeck.kit import http, json, jwk, jws
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import redact
from quarterdeck.services.bootstrap.ports import RegistrationToken
from quarterdeck.services.bootstrap.workload import (
    Registration,
    Workload,
    WorkloadError,
    find_registration,
)
from quarterdeck.wire.status import Forbidden, NotFound

FOR_NAMESPACES = "hyperfleet.io/for-namespaces"
"""Annotation of a Secret: namespaces whose templates may use it too, or *."""
_APP_TOKEN = timedelta(minutes=9)
_BACKDATED = timedelta(seconds=60)
_CREATED = 201
_LONGEST = 1 << 16


class _Answer(msgspec.Struct, frozen=True):
    token: str
    expires_at: str = ""


class GithubRegistrar:
    """Implements `Registrar`."""

    def __init__(self, client: Client, github: http.Client, *, clock: Clock) -> None:
        self._client = client
        self._github = github
        self._clock = clock

    async def register(self, workload: Workload) -> RegistrationToken:
        """Get a registration token from GitHub.

        Raises:
            WorkloadError: if the template or its Secrets cannot be used, or GitHub refuses.
        """
        registration, github = find_registration(workload), workload.github
        assert github is not None  # it names the registration
        if github.app is not None:
            credential = await self._open_app(github.app, registration, workload.namespace)
        elif github.pat is not None:
            credential = await self._read(github.pat, workload.namespace)
        else:
            raise WorkloadError("spec.bootstrap.config.github: app or pat must be set")
        answer = await self._post(registration.token_url, credential)
        return RegistrationToken(
            token=answer.token, expires_at=answer.expires_at, registration=registration
        )

    async def _open_app(self, app: GithubApp, registration: Registration, namespace: str) -> str:
        """Get an installation token of the GitHub App, so that its private key stays here."""
        identity, pem, installation = [
            await self._read(each, namespace)
            for each in (app.app_id, app.private_key, app.installation_id)
        ]
        try:
            key = jwk.parse_private_key(pem.encode())
        except ValueError:
            text = (
                f"key {app.private_key.key} of Secret {app.private_key.name} is not a private key"
            )
            raise WorkloadError(text) from None
        now = self._clock.now()
        claims = {
            "iss": identity,
            "iat": int((now - _BACKDATED).timestamp()),
            "exp": int((now + _APP_TOKEN).timestamp()),
        }
        signed = jws.sign(claims, key, key_id=identity)
        url = f"{registration.api}/app/installations/{installation}/access_tokens"
        return (await self._post(url, signed)).token

    async def _read(self, selector: SecretKeySelector, namespace: str) -> str:
        place = selector.namespace or namespace
        try:
            secret = await self._client.get(Secret, selector.name, place)
        except NotFound:
            raise WorkloadError(f"Secret {place}/{selector.name} not found") from None
        except Forbidden:
            text = f"the bootstrap service is not allowed to read Secret {place}/{selector.name}"
            raise WorkloadError(f"{text}; give it a Role in {place}") from None
        allowed = secret.metadata.annotations.get(FOR_NAMESPACES, "").replace(",", " ").split()
        if place != namespace and namespace not in allowed and "*" not in allowed:
            text = f"Secret {place}/{selector.name} is not shared with namespace {namespace}"
            raise WorkloadError(f"{text}; add the namespace to its annotation {FOR_NAMESPACES}")
        value = (secret.read(selector.key) or b"").decode(errors="replace").strip()
        if not value:
            raise WorkloadError(f"Secret {place}/{selector.name} has no key {selector.key}")
        return value

    async def _post(self, url: str, credential: str) -> _Answer:
        headers = [
            ("Authorization", f"Bearer {credential}"),
            ("Accept", "application/vnd.github+json"),
            ("User-Agent", "quarterdeck"),
        ]
        try:
            answer = await self._github.request("POST", url, headers=headers, body=json.encode({}))
            async with answer:
                text = await answer.read(_LONGEST)
        except http.HttpError as error:
            raise WorkloadError(f"{url} cannot be reached: {type(error).__name__}") from error
        except ValueError:  # its message may have the credential
            problem = f"no request can be made to {redact(url)}: it is not an address, it has "
            problem += "credentials, or the credential of the Secret has characters that no token "
            problem += "has, such as line breaks"
            raise WorkloadError(problem) from None
        if answer.status != _CREATED:
            raise WorkloadError(f"{url} answered {answer.status}")
        try:
            return msgspec.json.decode(text, type=_Answer)
        except json.UNREADABLE:
            raise WorkloadError(f"the answer of {url} has no token") from None
