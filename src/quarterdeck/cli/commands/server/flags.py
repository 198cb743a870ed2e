"""The flags of `quarterdeck server`, in groups, with the names that kube-apiserver gives them."""

import enum
from typing import Annotated, NamedTuple

from quarterdeck.cli.flags import port_option
from quarterdeck.cli.parameters import Option

DATA_DIR = ".quarterdeck"


class AuthorizationMode(enum.StrEnum):
    """What `--authorization-mode` may be."""

    RBAC = "RBAC"
    ALWAYS_ALLOW = "AlwaysAllow"
    RBAC_ALWAYS_ALLOW = "RBAC,AlwaysAllow"


def _path_option(flag: str, help: str) -> Option:
    return Option(flag, metavar="PATH", help=help)


class StorageFlags(NamedTuple):
    """Where the objects are stored."""

    data_dir: Annotated[
        str,
        Option("--data-dir", metavar="DIR", help=f"Folder of all data (default: {DATA_DIR})."),
    ] = ""
    in_memory: Annotated[bool, Option("--in-memory", help="Store nothing on disk.")] = False
    accept_data_loss: Annotated[
        bool,
        Option(
            "--accept-data-loss",
            help="Start without acknowledged writes that are lost or damaged.",
        ),
    ] = False
    encryption_provider_config: Annotated[
        str,
        _path_option(
            "--encryption-provider-config",
            "EncryptionConfiguration of kube-apiserver (provider aesgcm) for objects on disk.",
        ),
    ] = ""


class EndpointFlags(NamedTuple):
    """Where the server listens, and how clients find it."""

    port: Annotated[int, port_option("--port", "HTTPS port, 0 for any free port.")] = 6443
    http_port: Annotated[
        int | None,
        port_option(
            "--http-port",
            "Plain HTTP port on loopback, without authentication (default: off).",
        ),
    ] = None
    bind_address: Annotated[
        str, Option("--bind-address", metavar="IP", help="Address of the HTTPS port.")
    ] = "127.0.0.1"
    tls_cert_file: Annotated[
        str,
        _path_option("--tls-cert-file", "Serving certificate in PEM, reloaded when it changes."),
    ] = ""
    tls_private_key_file: Annotated[
        str, _path_option("--tls-private-key-file", "Private key of --tls-cert-file.")
    ] = ""
    write_kubeconfig: Annotated[
        str,
        Option(
            "--write-kubeconfig",
            metavar="PATH",
            help="Where to write the kubeconfig (default: in the data folder).",
        ),
    ] = ""


class AuthenticationFlags(NamedTuple):
    """Who a request comes from."""

    anonymous_auth: Annotated[
        str,
        Option(
            "--anonymous-auth",
            metavar="BOOL",
            help="Treat requests without credentials as anonymous: true or false.",
        ),
    ] = "true"
    client_ca_file: Annotated[
        str,
        _path_option(
            "--client-ca-file",
            "CA certificates that verify clients, besides the server's own CA.",
        ),
    ] = ""
    token_auth_file: Annotated[
        str,
        _path_option("--token-auth-file", 'Static tokens: lines of token,user,uid,"groups".'),
    ] = ""
    requestheader_client_ca_file: Annotated[
        str,
        _path_option(
            "--requestheader-client-ca-file",
            "CA certificates that verify proxies whose X-Remote-* headers are trusted.",
        ),
    ] = ""
    requestheader_allowed_names: Annotated[
        str,
        Option(
            "--requestheader-allowed-names",
            metavar="A,B",
            help="Common names of these proxies (default: all).",
        ),
    ] = ""


class OidcFlags(NamedTuple):
    """The OpenID issuer whose ID tokens are accepted."""

    oidc_issuer_url: Annotated[
        str,
        Option(
            "--oidc-issuer-url", metavar="URL", help="OpenID issuer whose ID tokens are accepted."
        ),
    ] = ""
    oidc_client_id: Annotated[
        str, Option("--oidc-client-id", metavar="ID", help="Audience of ID tokens.")
    ] = ""
    oidc_username_claim: Annotated[
        str, Option("--oidc-username-claim", metavar="NAME", help="Claim of the user's name.")
    ] = "sub"
    oidc_username_prefix: Annotated[
        str,
        Option(
            "--oidc-username-prefix",
            metavar="TEXT",
            help="Prefix of user names, - for none (default: the issuer and #).",
        ),
    ] = ""
    oidc_groups_claim: Annotated[
        str, Option("--oidc-groups-claim", metavar="NAME", help="Claim of the user's groups.")
    ] = ""
    oidc_groups_prefix: Annotated[
        str, Option("--oidc-groups-prefix", metavar="TEXT", help="Prefix of group names.")
    ] = ""
    oidc_required_claim: Annotated[
        list[str] | None,
        Option(
            "--oidc-required-claim",
            metavar="NAME=VALUE",
            help="Claim that ID tokens must have; may be repeated.",
        ),
    ] = None
    oidc_signing_algs: Annotated[
        str,
        Option(
            "--oidc-signing-algs", metavar="A,B", help="Accepted signing algorithms of ID tokens."
        ),
    ] = "RS256"
    oidc_ca_file: Annotated[
        str, _path_option("--oidc-ca-file", "CA certificates that verify the issuer.")
    ] = ""


class ServiceAccountFlags(NamedTuple):
    """How tokens of service accounts are signed and checked."""

    service_account_issuer: Annotated[
        str,
        Option("--service-account-issuer", metavar="URL", help="Issuer of service account tokens."),
    ] = "https://kubernetes.default.svc"
    service_account_signing_key_file: Annotated[
        str,
        _path_option(
            "--service-account-signing-key-file",
            "Private key that signs service account tokens (default: generated).",
        ),
    ] = ""
    service_account_key_file: Annotated[
        list[str] | None,
        _path_option(
            "--service-account-key-file",
            "Key whose service account tokens are accepted; may be repeated.",
        ),
    ] = None
    api_audiences: Annotated[
        str,
        Option(
            "--api-audiences",
            metavar="A,B",
            help="Audiences of tokens for this API (default: the issuer).",
        ),
    ] = ""


class ApiFlags(NamedTuple):
    """What the server serves and does by itself."""

    authorization_mode: Annotated[
        AuthorizationMode,
        Option(
            "--authorization-mode",
            help="Authorize by roles (RBAC), or allow every request (AlwaysAllow).",
        ),
    ] = AuthorizationMode.RBAC
    simulate_workloads: Annotated[
        bool,
        Option(
            "--simulate-workloads", help="Simulate kubelets: pods become ready without running."
        ),
    ] = False
    controllers_without_kubelet: Annotated[
        bool,
        Option(
            "--controllers-without-kubelet",
            help="Run the controllers of workloads and the scheduler; pods stay Pending.",
        ),
    ] = False
    no_lifecycle: Annotated[
        bool,
        Option("--no-lifecycle", help="Disable garbage collection and namespace termination."),
    ] = False
    controllers: Annotated[
        str,
        Option(
            "--controllers",
            metavar="A,-B",
            help="Controllers to run: * for all, A for one, -B for all but one.",
        ),
    ] = "*"
    feature_gates: Annotated[
        str,
        Option(
            "--feature-gates",
            metavar="A=true,B=false",
            help="Feature gates of Kubernetes; MutatingAdmissionPolicy serves that kind.",
        ),
    ] = ""
    kubernetes_version: Annotated[
        str,
        Option(
            "--kubernetes-version",
            metavar="VERSION",
            help="Release whose built-in kinds are served: 1.32, 1.36 with DRA and mutating"
            " policies, or 1.37 with pod certificates too.",
        ),
    ] = "1.32"
    service_cluster_ip_range: Annotated[
        str,
        Option(
            "--service-cluster-ip-range",
            metavar="CIDR",
            help="Range of the cluster IPs of Services.",
        ),
    ] = "10.96.0.0/12"
    max_requests_inflight: Annotated[
        int,
        Option(
            "--max-requests-inflight",
            metavar="N",
            help="Concurrent requests, at most a third of them of one user; others get status 429.",
            minimum=3,
        ),
    ] = 600


class AdmissionFlags(NamedTuple):
    """What admission runs, and where its webhooks are."""

    enable_admission_plugins: Annotated[
        str,
        Option(
            "--enable-admission-plugins",
            metavar="A,B",
            help="Admission plugins to run besides the default ones.",
        ),
    ] = ""
    disable_admission_plugins: Annotated[
        str,
        Option("--disable-admission-plugins", metavar="A,B", help="Admission plugins not to run."),
    ] = ""
    webhook_service: Annotated[
        list[str] | None,
        Option(
            "--webhook-service",
            metavar="NS/NAME=HOST:PORT",
            help="Where the Service of a webhook listens; may be repeated.",
        ),
    ] = None


class AuditFlags(NamedTuple):
    """The audit log."""

    audit_policy_file: Annotated[
        str,
        _path_option("--audit-policy-file", "Audit policy, in the format of kube-apiserver."),
    ] = ""
    audit_log_path: Annotated[
        str,
        _path_option("--audit-log-path", "File of the audit log; requires --audit-policy-file."),
    ] = ""
    audit_log_maxsize: Annotated[
        int,
        Option(
            "--audit-log-maxsize",
            metavar="MB",
            help="Rotate the audit log at this size.",
            minimum=1,
        ),
    ] = 100
    audit_log_maxbackup: Annotated[
        int,
        Option(
            "--audit-log-maxbackup",
            metavar="N",
            help="Rotated files to keep, 0 for all.",
            minimum=0,
        ),
    ] = 0
    audit_log_maxage: Annotated[
        int,
        Option(
            "--audit-log-maxage",
            metavar="DAYS",
            help="Days to keep rotated files, 0 for no limit.",
            minimum=0,
        ),
    ] = 0


class ServerFlags(NamedTuple):
    """All of them, as `--help` lists them."""

    storage: StorageFlags
    endpoint: EndpointFlags
    authentication: AuthenticationFlags
    oidc: OidcFlags
    service_accounts: ServiceAccountFlags
    api: ApiFlags
    admission: AdmissionFlags
    audit: AuditFlags
