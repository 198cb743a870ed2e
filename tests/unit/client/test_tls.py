"""TLS contexts: whom a client trusts and who it says it is."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.app.certificates import Certificates, ensure
from quarterdeck.client.config.cluster import ClusterConfig, PemSource
from quarterdeck.client.errors import ConfigError
from quarterdeck.client.tls import build_client_context
from quarterdeck.kit.redaction import Secret


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure(tmp_path_factory.mktemp("pki"), datetime.now(UTC))


def held(data: bytes) -> PemSource:
    return PemSource(data=Secret(data))


def test_plain_http_needs_no_context() -> None:
    assert build_client_context(ClusterConfig(server="http://127.0.0.1:1")) is None


def test_without_an_authority_the_system_is_trusted() -> None:
    context = build_client_context(ClusterConfig(server="https://h"))
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_an_authority_is_the_only_one_trusted(certificates: Certificates) -> None:
    authority = PemSource(file=certificates.certificate("authority"))
    context = build_client_context(
        ClusterConfig(server="https://h", certificate_authority=authority)
    )
    assert context is not None
    assert len(context.get_ca_certs()) == 1


def test_verification_can_be_skipped_by_name_only() -> None:
    context = build_client_context(ClusterConfig(server="https://h", insecure_skip_tls_verify=True))
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE and not context.check_hostname


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "A.example", "bücher.example"])
def test_names_of_servers_are_read_as_python_reads_them(name: str) -> None:
    context = build_client_context(ClusterConfig(server="https://h"))
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert context is not None
    shown = [
        each.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name).server_hostname
        for each in (context, plain)
    ]
    assert shown[0] == shown[1] != ""


@pytest.mark.parametrize("where", ["files", "memory", "credential"])
def test_a_client_certificate_is_loaded_from_anywhere(
    certificates: Certificates, where: str
) -> None:
    paths = certificates.certificate("administrator"), certificates.key("administrator")
    certificate, key = (path.read_bytes() for path in paths)
    match where:
        case "files":
            config = ClusterConfig(
                server="https://h",
                client_certificate=PemSource(file=paths[0]),
                client_key=PemSource(file=paths[1]),
            )
            assert build_client_context(config) is not None
        case "memory":
            config = ClusterConfig(
                server="https://h", client_certificate=held(certificate), client_key=held(key)
            )
            assert build_client_context(config) is not None
        case _:
            config = ClusterConfig(server="https://h")
            assert build_client_context(config, certificate=certificate + key) is not None


@pytest.mark.parametrize(
    ("authority", "message"),
    [
        pytest.param(held(b"nonsense"), "the certificate authority is not PEM", id="no PEM"),
        pytest.param(held(b"\xff"), "the certificate authority is not PEM", id="no text"),
        pytest.param(
            PemSource(file=Path("/nonexistent/ca.crt")),
            "cannot read the certificate authority: No such file",
            id="no file",
        ),
    ],
)
def test_a_broken_authority_is_named(authority: PemSource, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_client_context(ClusterConfig(server="https://h", certificate_authority=authority))


def test_a_key_of_somebody_else_is_refused_without_showing_it(certificates: Certificates) -> None:
    config = ClusterConfig(
        server="https://h",
        client_certificate=PemSource(file=certificates.certificate("administrator")),
        client_key=PemSource(file=certificates.key("authority")),
    )
    with pytest.raises(ConfigError, match="does not match its key") as caught:
        build_client_context(config)
    assert "PRIVATE" not in str(caught.value)
