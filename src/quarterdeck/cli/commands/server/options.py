"""What the flags of `quarterdeck server` mean: the options of the server, checked."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from quarterdeck.cli.commands.server.flags import (
    DATA_DIR,
    ApiFlags,
    AuthenticationFlags,
    AuthorizationMode,
    OidcFlags,
    ServerFlags,
)
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import split_names

if TYPE_CHECKING:
    from quarterdeck.app.api_server import ServeSettings
    from quarterdeck.app.identities import Identities
    from quarterdeck.server.options import OidcOptions, ServerOptions

_MEGABYTE = 1024 * 1024


def build_settings(flags: ServerFlags) -> "ServeSettings":
    """What the server is started with.

    Raises:
        CommandError: if flags exclude or need each other, or have values that are not accepted.
    """
    from quarterdeck.app.api_server import ServeSettings
    from quarterdeck.app.serving_certificate import ServingFiles

    _check_flags(flags)
    storage, endpoint = flags.storage, flags.endpoint
    files = ServingFiles(Path(endpoint.tls_cert_file), Path(endpoint.tls_private_key_file))
    return ServeSettings(
        data_dir=None if storage.in_memory else Path(storage.data_dir or DATA_DIR),
        port=endpoint.port,
        http_port=endpoint.http_port,
        kubeconfig=_parse_path(endpoint.write_kubeconfig),
        options=_build_server_options(flags),
        identities=_build_identities(flags.authentication),
        serving_files=files if endpoint.tls_cert_file else None,
        host=endpoint.bind_address,
        encryption_config=_parse_path(storage.encryption_provider_config),
        accept_loss=storage.accept_data_loss,
    )


def _check_flags(flags: ServerFlags) -> None:
    storage, endpoint, oidc, audit = flags.storage, flags.endpoint, flags.oidc, flags.audit
    _check_exclusive("--data-dir", storage.data_dir, "--in-memory", storage.in_memory)
    _check_simulation(flags.api)
    _check_pair(
        "--tls-cert-file",
        endpoint.tls_cert_file,
        "--tls-private-key-file",
        endpoint.tls_private_key_file,
    )
    _check_pair("--oidc-issuer-url", oidc.oidc_issuer_url, "--oidc-client-id", oidc.oidc_client_id)
    _check_pair(
        "--audit-policy-file", audit.audit_policy_file, "--audit-log-path", audit.audit_log_path
    )


def _check_simulation(api: ApiFlags) -> None:
    chosen = {
        "--simulate-workloads": api.simulate_workloads,
        "--controllers-without-kubelet": api.controllers_without_kubelet,
        "--no-lifecycle": api.no_lifecycle,
    }
    for (flag, value), (other_flag, other_value) in itertools.combinations(chosen.items(), 2):
        _check_exclusive(flag, value, other_flag, other_value)


def _build_server_options(flags: ServerFlags) -> "ServerOptions":
    from quarterdeck.server.options import ServerOptions

    api, tokens, audit = flags.api, flags.service_accounts, flags.audit
    options = ServerOptions(
        simulate_workloads=api.simulate_workloads,
        controllers_without_kubelet=api.controllers_without_kubelet,
        has_system_objects=True,
        lifecycle=not api.no_lifecycle,
        controllers=_parse_controllers(api.controllers),
        has_roles=api.authorization_mode is not AuthorizationMode.ALWAYS_ALLOW,
        always_allow=api.authorization_mode is not AuthorizationMode.RBAC,
        has_anonymous=_parse_bool("--anonymous-auth", flags.authentication.anonymous_auth),
        signing_key=_parse_path(tokens.service_account_signing_key_file),
        service_account_keys=tuple(Path(each) for each in tokens.service_account_key_file or ()),
        service_account_issuer=tokens.service_account_issuer,
        audiences=tuple(split_names(tokens.api_audiences)),
        audit_policy=_parse_path(audit.audit_policy_file),
        audit_log=_parse_path(audit.audit_log_path),
        audit_log_max_bytes=audit.audit_log_maxsize * _MEGABYTE,
        audit_log_max_backups=audit.audit_log_maxbackup,
        audit_log_max_age_days=audit.audit_log_maxage,
        max_requests_in_flight=api.max_requests_inflight,
        max_requests_per_user=api.max_requests_inflight // 3,
        enabled_plugins=frozenset(split_names(flags.admission.enable_admission_plugins)),
        disabled_plugins=frozenset(split_names(flags.admission.disable_admission_plugins)),
        feature_gates=_parse_gates(api.feature_gates),
        has_aggregated_discovery=_has_aggregated_discovery(api.feature_gates),
        service_cluster_ip_range=api.service_cluster_ip_range,
        git_version=_choose_release(api.kubernetes_version),
        webhook_services=_parse_services(flags.admission.webhook_service or []),
        oidc=_build_oidc_options(flags.oidc),
    )
    _check_options(options)
    return options


def _build_identities(flags: AuthenticationFlags) -> "Identities":
    from quarterdeck.app.identities import Identities

    return Identities(
        client_ca_file=_parse_path(flags.client_ca_file),
        token_auth_file=_parse_path(flags.token_auth_file),
        requestheader_client_ca_file=_parse_path(flags.requestheader_client_ca_file),
        requestheader_allowed_names=tuple(split_names(flags.requestheader_allowed_names)),
    )


def _parse_path(text: str) -> Path | None:
    return Path(text) if text else None


def _check_exclusive(flag: str, value: object, other_flag: str, other_value: object) -> None:
    if value and other_value:
        raise CommandError(f"{flag} and {other_flag} are mutually exclusive: give one", REFUSED)


def _check_pair(flag: str, value: str, other_flag: str, other_value: str) -> None:
    if bool(value) != bool(other_value):
        raise CommandError(f"{flag} and {other_flag} must be given together", REFUSED)


def _check_options(options: "ServerOptions") -> None:
    from quarterdeck.server.admission.assembly import choose_plugins
    from quarterdeck.server.admission.plugins.service_addresses import parse_network

    try:
        choose_plugins(options.enabled_plugins, options.disabled_plugins)
        parse_network(options.service_cluster_ip_range)
    except ValueError as error:
        raise CommandError(str(error), REFUSED) from error


def _build_oidc_options(flags: OidcFlags) -> "OidcOptions | None":
    from quarterdeck.server.options import OidcOptions

    if not flags.oidc_issuer_url:
        return None
    return OidcOptions(
        issuer_url=flags.oidc_issuer_url,
        client_id=flags.oidc_client_id,
        username_claim=flags.oidc_username_claim,
        username_prefix=flags.oidc_username_prefix,
        groups_claim=flags.oidc_groups_claim,
        groups_prefix=flags.oidc_groups_prefix,
        required_claims=_parse_claims(flags.oidc_required_claim or []),
        algorithms=tuple(split_names(flags.oidc_signing_algs)),
        ca_file=_parse_path(flags.oidc_ca_file),
    )


def _choose_release(release: str) -> str:
    """Serve the built-in kinds of a release; returns its version."""
    from quarterdeck.meta.builtins import table
    from quarterdeck.meta.release import VERSIONS

    try:
        table.choose_release(release)
    except ValueError as error:
        raise CommandError(f"invalid --kubernetes-version: {error}", REFUSED) from error
    return VERSIONS[release]


def _has_aggregated_discovery(gates: str) -> bool:
    from quarterdeck.server.options import AGGREGATED_DISCOVERY, is_switched_off

    return not is_switched_off(gates, AGGREGATED_DISCOVERY)


def _parse_gates(text: str) -> frozenset[str]:
    from quarterdeck.server.options import parse_feature_gates

    try:
        return parse_feature_gates(text)
    except ValueError as error:
        raise CommandError(str(error), REFUSED) from error


def _parse_controllers(text: str) -> frozenset[str] | None:
    """The controllers of the life cycle that run; None for all."""
    from quarterdeck.server.lifecycle.engine.controller_names import CONTROLLER_NAMES

    chosen = frozenset(split_names(text))
    unknown = {each.removeprefix("-") for each in chosen} - CONTROLLER_NAMES - {"*"}
    if unknown:
        raise CommandError(
            f"invalid --controllers: unknown {', '.join(sorted(unknown))}; available:"
            f" {', '.join(sorted(CONTROLLER_NAMES))}",
            REFUSED,
        )
    return None if chosen == {"*"} else chosen


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
