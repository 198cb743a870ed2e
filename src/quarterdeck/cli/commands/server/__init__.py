"""`quarterdeck server`: the API server alone, on this machine, and its database."""

import enum
from pathlib import Path
from typing import Annotated

from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import port_option, split_names
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option

_DATA_DIR = ".quarterdeck"

COMMANDS = {
    "snapshot": "Copy the database to a file, also while the server runs",
    "restore": "Put a snapshot in the place of the database",
    "verify": "Check that every acknowledged write is in the database",
    "compact": "Drop the history of a stopped server and give space back",
}


class AuthorizationMode(enum.StrEnum):
    """What `--authorization-mode` may be."""

    RBAC = "RBAC"
    ALWAYS_ALLOW = "AlwaysAllow"


def _path_option(flag: str, help: str) -> Option:
    return Option(flag, metavar="PATH", help=help)


def server(
    started: StartTime,
    data_dir: Annotated[
        str,
        Option("--data-dir", metavar="DIR", help=f"Folder of all data (default: {_DATA_DIR})."),
    ] = "",
    in_memory: Annotated[bool, Option("--in-memory", help="Store nothing on disk.")] = False,
    accept_data_loss: Annotated[
        bool,
        Option(
            "--accept-data-loss",
            help="Start although acknowledged writes are lost or damaged, without them.",
        ),
    ] = False,
    port: Annotated[int, port_option("--port", "HTTPS port, 0 for any free port.")] = 6443,
    http_port: Annotated[
        int | None,
        port_option(
            "--http-port",
            "Plain HTTP port on loopback, without authentication (default: off).",
        ),
    ] = None,
    write_kubeconfig: Annotated[
        str,
        Option(
            "--write-kubeconfig",
            metavar="PATH",
            help="Where to write the kubeconfig (default: in the data folder).",
        ),
    ] = "",
    simulate_workloads: Annotated[
        bool,
        Option("--simulate-workloads", help="Simulate kubelets: pods become ready by themselves."),
    ] = False,
    no_lifecycle: Annotated[
        bool,
        Option("--no-lifecycle", help="Disable garbage collection and namespace termination."),
    ] = False,
    bind_address: Annotated[
        str, Option("--bind-address", metavar="IP", help="Address of the HTTPS port.")
    ] = "127.0.0.1",
    authorization_mode: Annotated[
        AuthorizationMode,
        Option("--authorization-mode", help="Who may do what: by roles, or everybody everything."),
    ] = AuthorizationMode.RBAC,
    anonymous_auth: Annotated[
        str,
        Option(
            "--anonymous-auth",
            metavar="BOOL",
            help="Whether requests without credentials are anonymous, true or false.",
        ),
    ] = "true",
    tls_cert_file: Annotated[
        str,
        _path_option("--tls-cert-file", "Serving certificate in PEM, reloaded when it changes."),
    ] = "",
    tls_private_key_file: Annotated[
        str, _path_option("--tls-private-key-file", "Private key of --tls-cert-file.")
    ] = "",
    client_ca_file: Annotated[
        str,
        _path_option(
            "--client-ca-file",
            "Authorities of client certificates, besides the server's own.",
        ),
    ] = "",
    token_auth_file: Annotated[
        str,
        _path_option("--token-auth-file", 'Static tokens: lines of token,user,uid,"groups".'),
    ] = "",
    requestheader_client_ca_file: Annotated[
        str,
        _path_option(
            "--requestheader-client-ca-file",
            "Authorities of proxies whose X-Remote-* headers are believed.",
        ),
    ] = "",
    requestheader_allowed_names: Annotated[
        str,
        Option(
            "--requestheader-allowed-names",
            metavar="A,B",
            help="Common names of these proxies (default: all).",
        ),
    ] = "",
    enable_admission_plugins: Annotated[
        str,
        Option(
            "--enable-admission-plugins",
            metavar="A,B",
            help="Admission plugins to run besides the default ones.",
        ),
    ] = "",
    disable_admission_plugins: Annotated[
        str,
        Option("--disable-admission-plugins", metavar="A,B", help="Admission plugins not to run."),
    ] = "",
    feature_gates: Annotated[
        str,
        Option(
            "--feature-gates",
            metavar="A=true,B=false",
            help="Feature gates of Kubernetes; MutatingAdmissionPolicy serves that kind.",
        ),
    ] = "",
    kubernetes_version: Annotated[
        str,
        Option(
            "--kubernetes-version",
            metavar="VERSION",
            help="Release whose built-in kinds are served: 1.32, or 1.37 with DRA, pod certificates"
            " and mutating policies.",
        ),
    ] = "1.32",
    service_cluster_ip_range: Annotated[
        str,
        Option(
            "--service-cluster-ip-range",
            metavar="CIDR",
            help="The network that Services get their addresses from.",
        ),
    ] = "10.96.0.0/12",
    webhook_service: Annotated[
        list[str] | None,
        Option(
            "--webhook-service",
            metavar="NS/NAME=HOST:PORT",
            help="Where the Service of a webhook listens; may be repeated.",
        ),
    ] = None,
    service_account_issuer: Annotated[
        str,
        Option("--service-account-issuer", metavar="URL", help="Issuer of service account tokens."),
    ] = "https://kubernetes.default.svc",
    service_account_signing_key_file: Annotated[
        str,
        _path_option(
            "--service-account-signing-key-file",
            "Private key that signs service account tokens (default: made).",
        ),
    ] = "",
    service_account_key_file: Annotated[
        list[str] | None,
        _path_option(
            "--service-account-key-file",
            "Key whose service account tokens are accepted; may be repeated.",
        ),
    ] = None,
    api_audiences: Annotated[
        str,
        Option(
            "--api-audiences",
            metavar="A,B",
            help="Audiences of tokens for this API (default: the issuer).",
        ),
    ] = "",
    encryption_provider_config: Annotated[
        str,
        _path_option(
            "--encryption-provider-config",
            "Keys (aesgcm) that encrypt resources on the disk, as kube-apiserver reads them.",
        ),
    ] = "",
    audit_policy_file: Annotated[
        str,
        _path_option("--audit-policy-file", "Policy of the audit log, as kube-apiserver reads it."),
    ] = "",
    audit_log_path: Annotated[
        str, _path_option("--audit-log-path", "File of the audit log; needs a policy.")
    ] = "",
    audit_log_maxsize: Annotated[
        int,
        Option(
            "--audit-log-maxsize", metavar="MB", help="Size to rotate the audit log at.", minimum=1
        ),
    ] = 100,
    audit_log_maxbackup: Annotated[
        int,
        Option(
            "--audit-log-maxbackup",
            metavar="N",
            help="Rotated files to keep, 0 for all.",
            minimum=0,
        ),
    ] = 0,
    audit_log_maxage: Annotated[
        int,
        Option(
            "--audit-log-maxage",
            metavar="DAYS",
            help="Days to keep rotated files, 0 for ever.",
            minimum=0,
        ),
    ] = 0,
    max_requests_inflight: Annotated[
        int,
        Option(
            "--max-requests-inflight",
            metavar="N",
            help="Requests that run at once, a third of them of one user; more get 429.",
            minimum=3,
        ),
    ] = 600,
    oidc_issuer_url: Annotated[
        str,
        Option(
            "--oidc-issuer-url", metavar="URL", help="OpenID issuer whose ID tokens are accepted."
        ),
    ] = "",
    oidc_client_id: Annotated[
        str, Option("--oidc-client-id", metavar="ID", help="Audience of ID tokens.")
    ] = "",
    oidc_username_claim: Annotated[
        str, Option("--oidc-username-claim", metavar="NAME", help="Claim of the user's name.")
    ] = "sub",
    oidc_username_prefix: Annotated[
        str,
        Option(
            "--oidc-username-prefix",
            metavar="TEXT",
            help="Prefix of user names, - for none (default: the issuer and #).",
        ),
    ] = "",
    oidc_groups_claim: Annotated[
        str, Option("--oidc-groups-claim", metavar="NAME", help="Claim of the user's groups.")
    ] = "",
    oidc_groups_prefix: Annotated[
        str, Option("--oidc-groups-prefix", metavar="TEXT", help="Prefix of group names.")
    ] = "",
    oidc_required_claim: Annotated[
        list[str] | None,
        Option(
            "--oidc-required-claim",
            metavar="NAME=VALUE",
            help="Claim that ID tokens must have; may be repeated.",
        ),
    ] = None,
    oidc_signing_algs: Annotated[
        str,
        Option("--oidc-signing-algs", metavar="A,B", help="Algorithms of ID tokens."),
    ] = "RS256",
    oidc_ca_file: Annotated[
        str, _path_option("--oidc-ca-file", "Authorities of the issuer's certificate.")
    ] = "",
) -> None:
    """Run the API server alone, on loopback, until a signal."""
    from quarterdeck.app.api_server import ServeSettings, serve
    from quarterdeck.app.identities import Identities
    from quarterdeck.app.serving_certificate import ServingFiles
    from quarterdeck.server.admission.assembly import choose_plugins
    from quarterdeck.server.admission.plugins.service_addresses import parse_network
    from quarterdeck.server.options import OidcOptions, ServerOptions

    if data_dir and in_memory:
        raise CommandError("--data-dir and --in-memory exclude each other: give one", REFUSED)
    if simulate_workloads and no_lifecycle:
        raise CommandError(
            "--simulate-workloads and --no-lifecycle exclude each other: give one", REFUSED
        )
    if bool(tls_cert_file) != bool(tls_private_key_file):
        raise CommandError("--tls-cert-file and --tls-private-key-file need each other", REFUSED)
    if bool(oidc_issuer_url) != bool(oidc_client_id):
        raise CommandError("--oidc-issuer-url and --oidc-client-id need each other", REFUSED)
    if bool(audit_policy_file) != bool(audit_log_path):
        raise CommandError("--audit-policy-file and --audit-log-path need each other", REFUSED)
    oidc = None
    if oidc_issuer_url:
        oidc = OidcOptions(
            issuer_url=oidc_issuer_url,
            client_id=oidc_client_id,
            username_claim=oidc_username_claim,
            username_prefix=oidc_username_prefix,
            groups_claim=oidc_groups_claim,
            groups_prefix=oidc_groups_prefix,
            required_claims=_parse_claims(oidc_required_claim or []),
            algorithms=tuple(split_names(oidc_signing_algs)),
            ca_file=_parse_path(oidc_ca_file),
        )
    identities = Identities(
        client_ca_file=_parse_path(client_ca_file),
        token_auth_file=_parse_path(token_auth_file),
        requestheader_client_ca_file=_parse_path(requestheader_client_ca_file),
        requestheader_allowed_names=tuple(split_names(requestheader_allowed_names)),
    )
    options = ServerOptions(
        simulate_workloads=simulate_workloads,
        has_system_objects=True,
        lifecycle=not no_lifecycle,
        has_roles=authorization_mode is AuthorizationMode.RBAC,
        has_anonymous=_parse_bool("--anonymous-auth", anonymous_auth),
        signing_key=_parse_path(service_account_signing_key_file),
        service_account_keys=tuple(Path(each) for each in service_account_key_file or ()),
        service_account_issuer=service_account_issuer,
        audiences=tuple(split_names(api_audiences)),
        audit_policy=_parse_path(audit_policy_file),
        audit_log=_parse_path(audit_log_path),
        audit_log_max_bytes=audit_log_maxsize * 1024 * 1024,
        audit_log_max_backups=audit_log_maxbackup,
        audit_log_max_age_days=audit_log_maxage,
        max_requests_in_flight=max_requests_inflight,
        max_requests_per_user=max_requests_inflight // 3,
        enabled_plugins=frozenset(split_names(enable_admission_plugins)),
        disabled_plugins=frozenset(split_names(disable_admission_plugins)),
        feature_gates=_parse_gates(feature_gates),
        has_aggregated_discovery=_has_aggregated_discovery(feature_gates),
        service_cluster_ip_range=service_cluster_ip_range,
        git_version=_choose_release(kubernetes_version),
        webhook_services=_parse_services(webhook_service or []),
        oidc=oidc,
    )
    try:
        choose_plugins(options.enabled_plugins, options.disabled_plugins)
        parse_network(options.service_cluster_ip_range)
    except ValueError as error:
        raise CommandError(str(error), REFUSED) from error
    files = (Path(tls_cert_file), Path(tls_private_key_file))
    settings = ServeSettings(
        data_dir=None if in_memory else Path(data_dir or _DATA_DIR),
        port=port,
        http_port=http_port,
        kubeconfig=Path(write_kubeconfig) if write_kubeconfig else None,
        options=options,
        identities=identities,
        serving_files=ServingFiles(*files) if tls_cert_file else None,
        host=bind_address,
        encryption_config=_parse_path(encryption_provider_config),
        accept_loss=accept_data_loss,
    )
    run_loop(serve(settings, print_line=print_line, started=started))


def _parse_path(text: str) -> Path | None:
    return Path(text) if text else None


def _choose_release(release: str) -> str:
    """Serve the built-in kinds of a release; returns its version."""
    from quarterdeck.meta.builtins import table

    try:
        table.choose_release(release)
    except ValueError as error:
        raise CommandError(f"invalid --kubernetes-version: {error}", REFUSED) from error
    return table.VERSIONS[release]


def _has_aggregated_discovery(gates: str) -> bool:
    from quarterdeck.server.options import AGGREGATED_DISCOVERY, is_switched_off

    return not is_switched_off(gates, AGGREGATED_DISCOVERY)


def _parse_gates(text: str) -> frozenset[str]:
    from quarterdeck.server.options import parse_feature_gates

    try:
        return parse_feature_gates(text)
    except ValueError as error:
        raise CommandError(str(error), REFUSED) from error


def _parse_bool(flag: str, text: str) -> bool:
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise CommandError(f"invalid {flag} {text!r}: expected true or false", REFUSED)
    return values[text.lower()]


def _parse_services(texts: list[str]) -> dict[str, str]:
    """Where the Services of webhooks listen."""
    services: dict[str, str] = {}
    for text in texts:
        name, _, address = text.partition("=")
        host, _, port = address.rpartition(":")
        if name.count("/") != 1 or not all(name.split("/")) or not host or not port.isdigit():
            raise CommandError(
                f"invalid --webhook-service {text!r}: expected NS/NAME=HOST:PORT", REFUSED
            )
        services[name] = address
    return services


def _parse_claims(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, pair in zip(texts, pairs, strict=True) if not pair[1]]:
        raise CommandError(
            f"invalid --oidc-required-claim {wrong[0]!r}: expected NAME=VALUE", REFUSED
        )
    return {name: value for name, _, value in pairs}


COMMAND = Command(server)
