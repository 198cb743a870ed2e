"""What the flags of `quarterdeck server` become, and which are refused together."""

from pathlib import Path

import pytest

from quarterdeck.app.api_server import ServeSettings
from quarterdeck.app.serving_certificate import ServingFiles
from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.commands.server.flags import ServerFlags
from quarterdeck.cli.commands.server.options import build_settings
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.server.options import OidcOptions


def build(*arguments: str) -> ServeSettings:
    built: list[ServeSettings] = []

    def collect(flags: ServerFlags) -> None:
        built.append(build_settings(flags))

    command = Command(collect)
    command.call(command.build_parser("server").parse_args(list(arguments)), StartTime(0.0))
    return built[0]


def test_without_flags_it_listens_on_loopback_and_stores_in_the_working_directory() -> None:
    settings = build()
    assert (settings.host, settings.port, settings.http_port) == ("127.0.0.1", 6443, None)
    assert settings.data_dir == Path(".quarterdeck")
    assert settings.serving_files is None
    assert settings.options.has_roles
    assert settings.options.has_anonymous
    assert settings.options.lifecycle
    assert settings.options.oidc is None
    assert settings.options.max_requests_per_user * 3 == settings.options.max_requests_in_flight


def test_storage_flags_choose_the_folder_and_the_keys() -> None:
    assert build("--in-memory").data_dir is None
    settings = build(
        "--data-dir", "/d", "--encryption-provider-config", "/keys.yaml", "--accept-data-loss"
    )
    assert settings.data_dir == Path("/d")
    assert settings.encryption_config == Path("/keys.yaml")
    assert settings.accept_loss


def test_endpoint_flags_choose_address_certificate_and_kubeconfig() -> None:
    settings = build(
        *("--bind-address", "127.0.0.2", "--port", "0", "--http-port", "8001"),
        *("--tls-cert-file", "/c.pem", "--tls-private-key-file", "/k.pem"),
        *("--write-kubeconfig", "/kubeconfig"),
    )
    assert (settings.host, settings.port, settings.http_port) == ("127.0.0.2", 0, 8001)
    assert settings.serving_files == ServingFiles(Path("/c.pem"), Path("/k.pem"))
    assert settings.kubeconfig == Path("/kubeconfig")


def test_authentication_flags_become_identities() -> None:
    settings = build(
        *("--anonymous-auth", "False", "--authorization-mode", "AlwaysAllow"),
        *("--client-ca-file", "/ca.pem", "--token-auth-file", "/tokens.csv"),
        *("--requestheader-client-ca-file", "/proxy.pem"),
        *("--requestheader-allowed-names", "front, back"),
    )
    assert not settings.options.has_anonymous
    assert not settings.options.has_roles
    assert settings.identities.client_ca_file == Path("/ca.pem")
    assert settings.identities.token_auth_file == Path("/tokens.csv")
    assert settings.identities.requestheader_client_ca_file == Path("/proxy.pem")
    assert settings.identities.requestheader_allowed_names == ("front", "back")


def test_oidc_flags_become_options_of_the_issuer() -> None:
    settings = build(
        *("--oidc-issuer-url", "https://issuer", "--oidc-client-id", "fleet"),
        *("--oidc-username-claim", "email", "--oidc-username-prefix", "-"),
        *("--oidc-groups-claim", "groups", "--oidc-groups-prefix", "oidc:"),
        *("--oidc-required-claim", "team=a", "--oidc-required-claim", "tier=b=c"),
        *("--oidc-signing-algs", "RS256,ES256", "--oidc-ca-file", "/issuer.pem"),
    )
    assert settings.options.oidc == OidcOptions(
        issuer_url="https://issuer",
        client_id="fleet",
        username_claim="email",
        username_prefix="-",
        groups_claim="groups",
        groups_prefix="oidc:",
        required_claims={"team": "a", "tier": "b=c"},
        algorithms=("RS256", "ES256"),
        ca_file=Path("/issuer.pem"),
    )


def test_service_account_flags_name_keys_and_audiences() -> None:
    options = build(
        *("--service-account-issuer", "https://us", "--api-audiences", "a,b"),
        *("--service-account-signing-key-file", "/sign.pem"),
        *("--service-account-key-file", "/1.pem", "--service-account-key-file", "/2.pem"),
    ).options
    assert options.service_account_issuer == "https://us"
    assert options.audiences == ("a", "b")
    assert options.signing_key == Path("/sign.pem")
    assert options.service_account_keys == (Path("/1.pem"), Path("/2.pem"))


def test_audit_flags_have_the_units_of_kube_apiserver() -> None:
    options = build(
        *("--audit-policy-file", "/policy.yaml", "--audit-log-path", "/audit.log"),
        *("--audit-log-maxsize", "2", "--audit-log-maxbackup", "3", "--audit-log-maxage", "4"),
    ).options
    assert options.audit_policy == Path("/policy.yaml")
    assert options.audit_log == Path("/audit.log")
    assert options.audit_log_max_bytes == 2 * 1024 * 1024
    assert options.audit_log_max_backups == 3
    assert options.audit_log_max_age_days == 4


def test_admission_flags_choose_plugins_and_addresses_of_webhooks() -> None:
    options = build(
        *("--enable-admission-plugins", "AlwaysPullImages"),
        *("--disable-admission-plugins", "ResourceQuota"),
        *("--webhook-service", "ns/hook=127.0.0.1:9443"),
        *("--service-cluster-ip-range", "10.0.0.0/16", "--max-requests-inflight", "30"),
    ).options
    assert options.enabled_plugins == {"AlwaysPullImages"}
    assert options.disabled_plugins == {"ResourceQuota"}
    assert options.webhook_services == {"ns/hook": "127.0.0.1:9443"}
    assert options.service_cluster_ip_range == "10.0.0.0/16"
    assert (options.max_requests_in_flight, options.max_requests_per_user) == (30, 10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["--data-dir", "/d", "--in-memory"], "--data-dir and --in-memory", id="storage"
        ),
        pytest.param(
            ["--simulate-workloads", "--no-lifecycle"],
            "--simulate-workloads and --no-lifecycle",
            id="life cycle",
        ),
        pytest.param(
            ["--simulate-workloads", "--controllers-without-kubelet"],
            "--simulate-workloads and --controllers-without-kubelet",
            id="kubelet",
        ),
        pytest.param(["--tls-cert-file", "/c"], "--tls-private-key-file", id="no key"),
        pytest.param(["--tls-private-key-file", "/k"], "--tls-cert-file", id="no certificate"),
        pytest.param(["--oidc-issuer-url", "https://i"], "--oidc-client-id", id="no client"),
        pytest.param(["--oidc-client-id", "fleet"], "--oidc-issuer-url", id="no issuer"),
        pytest.param(["--audit-log-path", "/a"], "--audit-policy-file", id="no policy"),
        pytest.param(["--audit-policy-file", "/p"], "--audit-log-path", id="no audit log"),
        pytest.param(["--anonymous-auth", "maybe"], "--anonymous-auth 'maybe'", id="boolean"),
        pytest.param(["--webhook-service", "hook=h:1"], "expected NS/NAME=HOST:PORT", id="service"),
        pytest.param(["--webhook-service", "n/h=h:x"], "expected NS/NAME=HOST:PORT", id="port"),
        pytest.param(
            ["--oidc-issuer-url", "u", "--oidc-client-id", "c", "--oidc-required-claim", "team"],
            "--oidc-required-claim 'team'",
            id="claim",
        ),
        pytest.param(["--controllers", "*,-x"], "unknown x; available:", id="controller"),
        pytest.param(["--kubernetes-version", "0.1"], "--kubernetes-version", id="release"),
        pytest.param(["--feature-gates", "A=perhaps"], "A=perhaps", id="gate"),
        pytest.param(["--enable-admission-plugins", "Nothing"], "Nothing", id="plugin"),
        pytest.param(["--service-cluster-ip-range", "ten"], "ten", id="network"),
    ],
)
def test_flags_that_cannot_work_are_refused_by_name(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError) as refused:
        build(*arguments)
    assert words in str(refused.value)
    assert refused.value.code == REFUSED


def test_roles_may_exist_where_everybody_may_do_everything() -> None:
    options = build("--authorization-mode", "RBAC,AlwaysAllow").options
    assert (options.has_roles, options.always_allow) == (True, True)


def test_controllers_are_chosen_by_name() -> None:
    assert build().options.controllers is None
    assert build("--controllers", "*,-scheduler").options.controllers == frozenset(
        {"*", "-scheduler"}
    )
