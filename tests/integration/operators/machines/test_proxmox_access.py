"""Credentials, certificates and failures of Proxmox VE; and what never reaches a log."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import pytest
from fake_pve import Fault
from fake_pve.server import PASSWORD, TOKEN, TOKEN_ID, USERNAME
from tests.contract.hypervisor.proxmox_rig import ProxmoxRig, open_rig, settings_of
from tests.contract.hypervisor.rig import make, owner_of

from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.drivers.proxmox import ProxmoxProvider, api
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    PermanentError,
    ResourceError,
    TransientError,
)
from quarterdeck.operators.machines.machine import AccessData, PowerAction

LOGIN = "POST /access/ticket"
BY_PASSWORD = AccessData(username=USERNAME, password=Secret(PASSWORD))


@contextlib.asynccontextmanager
async def _opened(rig: ProxmoxRig, **changes: object) -> AsyncIterator[ProxmoxProvider]:
    provider = ProxmoxProvider(settings_of(rig.fake, **changes))
    try:
        yield provider
    finally:
        await provider.aclose()


async def test_password_gets_one_ticket_for_many_requests() -> None:
    async with open_rig() as rig, _opened(rig, access=BY_PASSWORD) as provider:
        assert (await provider.test_connection()).version == "8.4.1"
        rig.hypervisor = provider
        await make(rig)
        assert rig.fake.logins == 1


@pytest.mark.parametrize(
    "endpoint",
    [
        *("https://[::1", "https://pve.example:99999", "https://pve..example:8006", "https://"),
        *(f"https://me:{PASSWORD}@pve.example:8006", "https://pve.example/gr\u00f6\u00dfe"),
    ],
)
async def test_endpoint_that_cannot_be_used_names_the_field(endpoint: str) -> None:
    async with open_rig() as rig, _opened(rig, endpoint=endpoint) as provider:
        with pytest.raises(TransientError, match=r"^spec\.endpoint is not valid: write") as caught:
            await provider.test_connection()
        assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("token", ["to\nken", "token\u20ac"])
async def test_credentials_that_no_header_can_have_are_refused(token: str) -> None:
    access = AccessData(token_id=TOKEN_ID, token_secret=Secret(token))
    async with open_rig() as rig, _opened(rig, access=access) as provider:
        with pytest.raises(ConfigurationError, match=r"spec\.credentials: a value has") as caught:
            await provider.test_connection()
        assert token not in str(caught.value)


async def test_expired_ticket_is_replaced_without_anybody_noticing() -> None:
    async with open_rig() as rig, _opened(rig, access=BY_PASSWORD) as provider:
        await provider.test_connection()
        rig.fake.tickets.clear()
        await provider.test_connection()
        assert rig.fake.logins == 2


async def test_requests_that_share_an_expired_ticket_share_one_login() -> None:
    async with open_rig() as rig, _opened(rig, access=BY_PASSWORD) as provider:
        await provider.test_connection()
        rig.fake.tickets.clear()
        await asyncio.gather(*(provider.test_connection() for _ in range(8)))
        assert rig.fake.logins == 2


async def test_first_requests_share_one_login() -> None:
    async with open_rig() as rig, _opened(rig, access=BY_PASSWORD) as provider:
        await asyncio.gather(*(provider.test_connection() for _ in range(8)))
        assert rig.fake.logins == 1


BY_WRONG_PASSWORD = AccessData(username=USERNAME, password=Secret("wrong"))


async def test_requests_that_wait_for_a_refused_login_do_not_log_in_themselves() -> None:
    async with open_rig() as rig, _opened(rig, access=BY_WRONG_PASSWORD) as provider:
        calls = [provider.test_connection() for _ in range(8)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in found] == [ConfigurationError] * 8
        assert rig.fake.journal.count(LOGIN) == 1


async def test_refused_password_is_tried_after_longer_and_longer_pauses() -> None:
    clock = VirtualClock()
    async with open_rig() as rig, _opened(rig, access=BY_WRONG_PASSWORD, clock=clock) as provider:
        tried_at = []
        for second in range(0, 1200, 10):
            before = rig.fake.journal.count(LOGIN)
            with pytest.raises(ConfigurationError, match="authentication failure"):
                await provider.test_connection()
            if rig.fake.journal.count(LOGIN) > before:
                tried_at.append(second)
            await clock.advance(10.0)
        assert tried_at == [0, 30, 90, 210, 450, 750, 1050]


async def test_login_is_tried_at_once_after_a_failure_that_is_no_refusal() -> None:
    clock = VirtualClock()
    async with open_rig() as rig, _opened(rig, access=BY_PASSWORD, clock=clock) as provider:
        rig.fake.faults.append(Fault(LOGIN, status=503, reason="busy"))
        with pytest.raises(TransientError):
            await provider.test_connection()
        await clock.advance(0.1)
        await provider.test_connection()
        assert rig.fake.logins == 1


@contextlib.asynccontextmanager
async def _answering(head: bytes) -> AsyncIterator[str]:
    """A server that answers with these bytes, and waits until the client closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while await reader.read(4096):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    "access", [BY_PASSWORD, AccessData(token_id=TOKEN_ID, token_secret=Secret(TOKEN))]
)
async def test_refusal_without_length_does_not_wait_for_its_body(
    monkeypatch: pytest.MonkeyPatch, access: AccessData
) -> None:
    monkeypatch.setattr(api, "_REFUSAL_S", 0.01)
    head = b"HTTP/1.1 401 authentication failure\r\nconnection: close\r\n\r\n"
    async with (
        open_rig() as rig,
        _answering(head) as url,
        _opened(rig, endpoint=url, access=access) as provider,
    ):
        with pytest.raises(ConfigurationError, match="authentication failure") as caught:
            await provider.test_connection()
        assert caught.value.code is Code.UNAUTHORIZED


async def test_login_waits_no_longer_than_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_READ_S", 0.05)
    async with (
        open_rig() as rig,
        _answering(b"") as url,
        _opened(rig, endpoint=url, access=BY_PASSWORD) as provider,
    ):
        with pytest.raises(TransientError) as caught:
            await provider.test_connection()
        assert caught.value.code is Code.TIMEOUT
        assert "/access/ticket" in str(caught.value)


@pytest.mark.parametrize(
    "access",
    [
        pytest.param(AccessData(token_id=TOKEN_ID, token_secret=Secret("wrong")), id="token"),
        pytest.param(AccessData(username=USERNAME, password=Secret("wrong")), id="password"),
    ],
)
async def test_wrong_credentials_wait_for_somebody_to_change_them(access: AccessData) -> None:
    async with open_rig() as rig, _opened(rig, access=access) as provider:
        with pytest.raises(ConfigurationError) as caught:
            await provider.test_connection()
        assert caught.value.code is Code.UNAUTHORIZED
        assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    "access",
    [
        pytest.param(AccessData(token_id="hf", token_secret=Secret("x")), id="no token name"),
        pytest.param(AccessData(username="root", password=Secret("x")), id="no realm"),
        pytest.param(AccessData(), id="nothing"),
    ],
)
async def test_credentials_of_the_wrong_form_are_never_sent(access: AccessData) -> None:
    async with open_rig() as rig, _opened(rig, access=access) as provider:
        with pytest.raises(ConfigurationError) as caught:
            await provider.test_connection()
        assert caught.value.code is Code.UNAUTHORIZED
        assert rig.fake.journal == []


async def test_a_certificate_nobody_signed_is_refused() -> None:
    async with open_rig() as rig, _opened(rig, ca_certificates="") as provider:
        with pytest.raises(ConfigurationError) as caught:
            await provider.test_connection()
        assert caught.value.code is Code.TLS
        assert rig.fake.journal == []


async def test_a_fingerprint_is_enough_to_trust() -> None:
    async with (
        open_rig() as rig,
        _opened(rig, ca_certificates=rig.fake.fingerprint) as provider,
    ):
        assert (await provider.test_connection()).version


async def test_another_fingerprint_is_refused_before_credentials_are_sent() -> None:
    async with open_rig() as rig:
        first, rest = rig.fake.fingerprint[:2], rig.fake.fingerprint[2:]
        other = ("00" if first != "00" else "01") + rest
        async with _opened(rig, ca_certificates=other) as provider:
            with pytest.raises(ConfigurationError) as caught:
                await provider.test_connection()
        assert caught.value.code is Code.TLS
        assert rig.fake.journal == []


async def test_any_certificate_is_accepted_when_told_so() -> None:
    async with (
        open_rig() as rig,
        _opened(rig, ca_certificates="", is_insecure=True) as provider,
    ):
        assert (await provider.test_connection()).version


async def test_text_that_is_not_a_certificate_authority_is_named() -> None:
    async with open_rig() as rig, _opened(rig, ca_certificates="hello") as provider:
        with pytest.raises(ConfigurationError, match="caCertificate"):
            await provider.test_connection()


@pytest.mark.parametrize(
    ("status", "reason", "kind", "code"),
    [
        (401, "authentication failure", ConfigurationError, Code.UNAUTHORIZED),
        (
            403,
            "Permission check failed (/vms/200, VM.PowerMgmt)",
            ConfigurationError,
            Code.FORBIDDEN,
        ),
        (500, "VM is locked (backup)", TransientError, Code.LOCKED),
        (595, "No route to host", TransientError, Code.UNAVAILABLE),
        (500, "unable to start: no space left on device", ResourceError, Code.RESOURCE_EXHAUSTED),
        (500, "something that nobody has seen before", TransientError, Code.CONFLICT),
        (400, "Parameter verification failed.", PermanentError, Code.INVALID_SPEC),
        (0, "", TransientError, Code.UNAVAILABLE),
    ],
)
async def test_failures_fall_into_four_classes(
    status: int, reason: str, kind: type[HypervisorError], code: Code
) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.fake.faults.append(Fault("POST .*/status/start", status, reason, times=2))
        with pytest.raises(kind) as caught:
            await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        assert caught.value.code is code
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>log in</html>", id="a page"),
        pytest.param(b'{"data":{"version":"\xff\xfe"}}', id="not UTF-8"),
        pytest.param(b'{"data":' * 100_000 + b"1" + b"}" * 100_000, id="nested too deeply"),
    ],
)
async def test_an_answer_that_is_not_json_is_transient(body: bytes) -> None:
    async def answer(request: http.Request) -> http.Response:
        return http.Response(200, [("content-type", "application/json")], body)

    async with open_rig() as rig, http.Server(answer) as server:
        listener = await server.listen("127.0.0.1", 0)
        async with _opened(rig, endpoint=listener.url) as provider:
            with pytest.raises(TransientError, match=r"is not|unexpected response|nested"):
                await provider.test_connection()


async def test_nobody_answering_is_transient() -> None:
    async with open_rig() as rig:
        async with _opened(rig, endpoint="https://127.0.0.1:1") as provider:
            with pytest.raises(TransientError) as caught:
                await provider.test_connection()
        assert caught.value.code is Code.UNAVAILABLE


async def test_credentials_appear_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts = []
    async with open_rig() as rig:
        for access in (BY_PASSWORD, settings_of(rig.fake).access):
            async with _opened(rig, access=access) as provider:
                await provider.test_connection()
                reason = f"bad password={PASSWORD.split()[0]} token={TOKEN}"
                rig.fake.faults.append(Fault("GET /nodes$", 500, reason))
                with pytest.raises(HypervisorError) as caught:
                    await provider.list_nodes()
                texts.append(f"{caught.value!s} {caught.value!r} {provider!r} {vars(provider)!r}")
    for text in (*texts, caplog.text):
        assert TOKEN not in text
        assert PASSWORD.split()[0] not in text


async def test_bare_credentials_that_the_server_repeats_are_masked() -> None:
    async with open_rig() as rig:
        for access in (BY_PASSWORD, settings_of(rig.fake).access):
            async with _opened(rig, access=access) as provider:
                secret = access.password if access.password.reveal() else access.token_secret
                reason = f"nobody knows {secret.reveal()} here"
                rig.fake.faults.append(Fault("GET /nodes$", 500, reason))
                with pytest.raises(HypervisorError, match="nobody knows") as caught:
                    await provider.list_nodes()
                assert secret.reveal() not in str(caught.value)
