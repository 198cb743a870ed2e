"""Who an embedded server takes its clients for: certificates, tokens, proxies, nobody."""

import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.app import certificates, embedded
from quarterdeck.app.embedded import Embedded, Plan
from quarterdeck.app.errors import StartError
from quarterdeck.app.identities import Identities
from quarterdeck.app.serving_certificate import ServingCertificate, ServingFiles
from quarterdeck.kit import http
from quarterdeck.kit.certificate import Certificate, CertificateRequest, issue_certificate
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.server.options import ServerOptions

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def make_authority(name: str) -> Certificate:
    return issue_certificate(CertificateRequest(name, DAY, is_authority=True), now=NOW)


def issue(folder: Path, name: str, *, issuer: Certificate, groups: str = "") -> ServingFiles:
    """Write a certificate of a user and its key."""
    request = CertificateRequest(name, DAY, ("127.0.0.1",), organization=groups)
    return write(folder / name, issue_certificate(request, now=NOW, issuer=issuer))


def write(path: Path, issued: Certificate) -> ServingFiles:
    files = ServingFiles(path.with_suffix(".crt"), path.with_suffix(".key"))
    files.certificate.write_bytes(issued.encode_certificate())
    files.key.write_bytes(issued.encode_key())
    return files


@contextlib.asynccontextmanager
async def serving(plan: Plan) -> AsyncIterator[Embedded]:
    async with contextlib.AsyncExitStack() as stack:
        yield await embedded.start(plan, stack, clock=SystemClock())


def build_plan(folder: Path, **members: Any) -> Plan:
    return Plan(data_dir=folder / "data", port=0, **members)


@contextlib.asynccontextmanager
async def connected(
    server: Embedded, files: ServingFiles | None = None, *, trusted: Path | None = None
) -> AsyncIterator[http.Client]:
    context = ssl.create_default_context(
        cafile=str(trusted or server.authority.certificate("authority"))
    )
    if files is not None:
        context.load_cert_chain(*files)
    async with http.Client(tls=context) as client:
        yield client


async def who(
    client: http.Client, server: Embedded, headers: Mapping[str, str] | None = None
) -> dict[str, Any] | int:
    """The user the server sees, or the status with which it refused."""
    response = await client.request(
        "POST",
        f"{server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews",
        headers=[("Content-Type", "application/json"), *(headers or {}).items()],
        body=json.dumps(REVIEW).encode(),
    )
    body = json.loads(await response.read())
    if response.status != 201:
        return response.status
    found: dict[str, Any] = body["status"]["userInfo"]
    return found


async def test_certificates_of_another_authority_are_accepted(tmp_path: Path) -> None:
    other = make_authority("other-ca")
    authority = write(tmp_path / "ca", other)
    alice = issue(tmp_path, "alice", issuer=other, groups="devs")
    identities = Identities(client_ca_file=authority.certificate)
    async with serving(build_plan(tmp_path, identities=identities)) as server:
        async with connected(server, alice) as client:
            user = await who(client, server)
            assert isinstance(user, dict)
            assert (user["username"], user["groups"]) == ("alice", ["devs", "system:authenticated"])
        own = server.authority
        admin = ServingFiles(own.certificate("administrator"), own.key("administrator"))
        async with connected(server, admin) as client:
            user = await who(client, server)
            assert isinstance(user, dict) and user["username"] == "kubernetes-admin"


@pytest.mark.parametrize("case", ["unknown authority", "expired", "signed by itself"])
async def test_bad_certificates_open_no_connection(
    tmp_path: Path, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    trusted = make_authority("trusted-ca")
    authority = write(tmp_path / "ca", trusted)
    issuers = {"expired": trusted, "unknown authority": make_authority("trusted-ca")}
    begun = NOW - 10 * DAY if case == "expired" else NOW
    request = CertificateRequest("mallory", DAY, organization="system:masters")
    mallory = write(
        tmp_path / "mallory", issue_certificate(request, now=begun, issuer=issuers.get(case))
    )
    identities = Identities(client_ca_file=authority.certificate)
    async with (
        serving(build_plan(tmp_path, identities=identities)) as server,
        connected(server, mallory) as client,
    ):
        with pytest.raises((http.HttpError, OSError)):
            await who(client, server)
    lines = [each for each in caplog.records if each.message == "refused a client certificate"]
    assert lines, "whoever runs the server can see why a client is refused"
    assert lines[0].__dict__["peer"] == "127.0.0.1"
    assert ("expired" if case == "expired" else "certificate") in lines[0].__dict__["reason"]


async def test_static_tokens_name_users_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t-alice,alice,u-1,"devs, ops"\nt-bob,bob,u-2\n,nobody,u-3\n')
    plan = build_plan(tmp_path, identities=Identities(token_auth_file=tokens))
    async with serving(plan) as server, connected(server) as client:
        alice = await who(client, server, {"Authorization": "Bearer t-alice"})
        assert alice == {
            "username": "alice",
            "uid": "u-1",
            "groups": ["devs", "ops", "system:authenticated"],
        }
        bob = await who(client, server, {"Authorization": "Bearer t-bob"})
        assert isinstance(bob, dict) and bob["groups"] == ["system:authenticated"]
        assert await who(client, server, {"Authorization": "Bearer wrong"}) == 401
        version = await client.request(
            "GET", f"{server.url}/version", headers=[("Authorization", "Bearer wrong")]
        )
        assert version.status == 401  # although anonymous users may read it


async def test_anonymous_reads_public_paths_unless_switched_off(tmp_path: Path) -> None:
    async with serving(build_plan(tmp_path)) as server, connected(server) as client:
        for path, status in (("/version", 200), ("/healthz", 200), ("/api/v1/pods", 403)):
            assert (await client.request("GET", server.url + path)).status == status, path
    plan = build_plan(tmp_path, options=ServerOptions(has_anonymous=False))
    async with serving(plan) as server, connected(server) as client:
        assert (await client.request("GET", f"{server.url}/version")).status == 401


async def test_proxy_headers_count_only_with_the_authority_of_the_proxy(tmp_path: Path) -> None:
    clients, proxies = make_authority("clients-ca"), make_authority("proxies-ca")
    identities = Identities(
        client_ca_file=write(tmp_path / "clients", clients).certificate,
        requestheader_client_ca_file=write(tmp_path / "proxies", proxies).certificate,
        requestheader_allowed_names=("front",),
    )
    headers = {"X-Remote-User": "carol", "X-Remote-Group": "ops", "X-Remote-Extra-Scopes": "all"}
    async with serving(build_plan(tmp_path, identities=identities)) as server:
        async with connected(server, issue(tmp_path, "front", issuer=proxies)) as client:
            assert await who(client, server, headers) == {
                "username": "carol",
                "groups": ["ops", "system:authenticated"],
                "extra": {"scopes": ["all"]},
            }
            assert await who(client, server) == 403  # the proxy itself is nobody
        async with connected(server, issue(tmp_path, "back", issuer=proxies)) as client:
            assert await who(client, server, headers) == 401
        async with connected(server, issue(tmp_path, "alice", issuer=clients)) as client:
            user = await who(client, server, headers)
            assert isinstance(user, dict) and user["username"] == "alice"
        async with connected(server) as client:
            assert await who(client, server, headers) == 403


async def test_bootstrap_tokens_are_good_until_they_expire(tmp_path: Path) -> None:
    async with serving(build_plan(tmp_path)) as server:
        own = server.authority
        admin = ServingFiles(own.certificate("administrator"), own.key("administrator"))
        bearer = {"Authorization": "Bearer abcdef.0123456789abcdef"}
        async with connected(server, admin) as client, connected(server) as machine:
            assert await who(machine, server, bearer) == 401
            data = {
                "token-id": "abcdef",
                "token-secret": "0123456789abcdef",
                "usage-bootstrap-authentication": "true",
                "auth-extra-groups": "system:bootstrappers:workers",
                "expiration": "2999-01-01T00:00:00Z",
            }
            await put_bootstrap_token(client, server, data)
            user = await who(machine, server, bearer)
            assert user == {
                "username": "system:bootstrap:abcdef",
                "groups": [
                    "system:bootstrappers",
                    "system:bootstrappers:workers",
                    "system:authenticated",
                ],
            }
            wrong = {"Authorization": "Bearer abcdef.0000000000000000"}
            assert await who(machine, server, wrong) == 401
            for change in (
                {"expiration": "2001-01-01T00:00:00Z"},
                {"expiration": "soon"},
                {"usage-bootstrap-authentication": "false"},
                {"auth-extra-groups": "system:masters"},
            ):
                await put_bootstrap_token(client, server, data | change)
                assert await who(machine, server, bearer) == 401, change


async def put_bootstrap_token(client: http.Client, server: Embedded, data: dict[str, str]) -> None:
    name = "bootstrap-token-abcdef"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }
    response = await client.request(
        "PATCH",
        f"{server.url}/api/v1/namespaces/kube-system/secrets/{name}?fieldManager=test&force=true",
        headers=[("Content-Type", "application/apply-patch+yaml")],
        body=json.dumps(secret).encode(),
    )
    assert response.status in (200, 201), await response.read()


async def test_serving_certificate_of_files_is_reloaded(tmp_path: Path) -> None:
    first, second = make_authority("first-ca"), make_authority("second-ca")
    trusted = {each: write(tmp_path / f"ca-{each}", ca) for each, ca in
               (("first", first), ("second", second))}  # fmt: skip
    files = issue(tmp_path, "serving", issuer=first)
    async with serving(build_plan(tmp_path, serving_files=files)) as server:
        async with connected(server, trusted=trusted["first"].certificate) as client:
            assert (await client.request("GET", f"{server.url}/healthz")).status == 200
        files.key.write_bytes(b"half a key")
        assert not server.certificate.refresh()
        issue(tmp_path, "serving", issuer=second)
        assert server.certificate.refresh()
        async with connected(server, trusted=trusted["second"].certificate) as client:
            assert (await client.request("GET", f"{server.url}/healthz")).status == 200


def test_made_certificates_are_renewed_before_they_expire(tmp_path: Path) -> None:
    made = certificates.ensure(tmp_path, NOW)
    names = ("authority", "administrator", "server")
    before = {each: made.certificate(each).read_bytes() for each in names}
    assert certificates.renew(made, NOW + 200 * DAY) == []
    assert certificates.renew(made, NOW + 300 * DAY) == ["server"]
    after = {each: made.certificate(each).read_bytes() for each in names}
    assert {each for each in names if before[each] != after[each]} == {"server"}
    assert certificates.renew(made, NOW + 300 * DAY) == []


async def test_renewed_certificate_is_served_without_restart(tmp_path: Path) -> None:
    clock = VirtualClock(NOW)
    made = certificates.ensure(tmp_path, NOW)
    serving_certificate = ServingCertificate(made, None, clock=clock)
    assert not serving_certificate.refresh()
    await clock.advance((300 * DAY).total_seconds())
    assert serving_certificate.refresh()


async def test_a_certificate_without_its_key_does_not_replace_the_one_in_use(
    tmp_path: Path,
) -> None:
    authority = make_authority("test")
    files = issue(tmp_path, "used", issuer=authority)
    other = issue(tmp_path, "other", issuer=authority)
    made = certificates.ensure(tmp_path, NOW)
    used = ServingCertificate(made, files, clock=VirtualClock(NOW))
    trusting = ssl.create_default_context(cadata=authority.encode_certificate().decode())

    async def respond(request: http.Request) -> http.Response:
        return http.Response(200, [])

    async with http.Server(respond) as server, http.Client(tls=trusting) as client:
        listener = await server.listen("127.0.0.1", 0, tls=used.context)
        files.certificate.write_bytes(other.certificate.read_bytes())
        assert not used.refresh()
        assert (await client.request("GET", listener.url)).status == 200


@pytest.mark.parametrize(
    ("identities", "flag"),
    [
        (Identities(client_ca_file=Path("absent.crt")), "--client-ca-file"),
        (Identities(token_auth_file=Path("absent.csv")), "--token-auth-file"),
        (Identities(requestheader_client_ca_file=Path("no")), "--requestheader-client-ca-file"),
    ],
    ids=["client authorities", "tokens", "proxy authorities"],
)
async def test_files_that_cannot_be_read_name_their_flag(
    tmp_path: Path, identities: Identities, flag: str
) -> None:
    with pytest.raises(StartError, match=flag):
        async with serving(build_plan(tmp_path, identities=identities)):
            pass


async def test_token_file_with_a_short_line_names_the_line_and_no_token(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("good,alice,u\nsecret-token,bob\n")
    with pytest.raises(StartError, match="line 2") as refusal:
        async with serving(build_plan(tmp_path, identities=Identities(token_auth_file=tokens))):
            pass
    assert "secret-token" not in str(refusal.value)
