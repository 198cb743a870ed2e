"""Settings of the hub API: addresses, authentication, and caches of policies."""

from pathlib import Path
from typing import Annotated

from quarterdeck.app.oidc_settings import OidcSettings
from quarterdeck.app.option import HUB, UP, Option, Port, number_option, text_option

_API = (UP, HUB)


class HubSettings(OidcSettings, frozen=True, kw_only=True):
    """Settings of the hub API, in `up` and in `quarterdeck hub`."""

    # --- access policies

    policy_cache_ttl: Annotated[
        int,
        number_option(
            "POLICY_CACHE_TTL", "Seconds that policies are cached.", minimum=60, commands=_API
        ),
    ] = 300
    group_cache_ttl: Annotated[
        int,
        number_option(
            "GROUP_CACHE_TTL",
            "Seconds that groups of OpenShift are cached; 0: never.",
            minimum=0,
            commands=_API,
        ),
    ] = 60
    rbac_cache_ttl: Annotated[
        int,
        number_option(
            "RBAC_CACHE_TTL",
            "Seconds that policies of a user are cached; 0: never.",
            minimum=0,
            commands=_API,
        ),
    ] = 0
    max_policies_per_user: Annotated[
        int,
        number_option(
            "MAX_POLICIES_PER_USER",
            "Maximum number of policies evaluated for one user.",
            minimum=1,
            maximum=10_000,
            commands=_API,
        ),
    ] = 100

    # --- the hub API

    hub_host: Annotated[
        str,
        Option(
            help="Address that `quarterdeck hub` listens on.",
            env=("API_HOST",),
            commands=(HUB,),
            metavar="ADDRESS",
            default_text="loopback, all addresses inside a cluster",
        ),
    ] = ""
    hub_port: Annotated[
        Port,
        Option(
            help="Port of `quarterdeck hub`; 0 for any free port.",
            env=("API_PORT",),
            commands=(HUB,),
            metavar="N",
        ),
    ] = Port(8088)
    hub_cert_path: Annotated[
        Path | None,
        Option(
            help="Folder with tls.crt and tls.key of `quarterdeck hub`; read again on change.",
            env=("API_CERT_PATH",),
            commands=(HUB,),
            metavar="DIR",
            default_text="none; plain HTTP",
        ),
    ] = None
    operators_url: Annotated[
        str,
        Option(
            help=(
                "Metrics addresses of the operators, from which `quarterdeck hub` reads reconciles."
            ),
            env=("OPERATORS_URL",),
            commands=(HUB,),
            metavar="A,B",
            default_text="none; the dashboard shows no reconciles",
        ),
    ] = ""
    operators_ca_file: Annotated[
        str,
        Option(
            help="CA certificates that verify the operators.",
            env=("OPERATORS_CA_FILE",),
            commands=(HUB,),
            metavar="FILE",
            default_text="those of the system",
        ),
    ] = ""
    hub_anonymous: Annotated[
        bool,
        Option(help="Allow anonymous viewers.", env=("HUB_ANONYMOUS",), commands=_API),
    ] = False
    oauth_trusted_proxies: Annotated[
        str,
        text_option(
            "OAUTH_TRUSTED_PROXIES",
            "Networks of OAuth proxies whose user headers are trusted.",
            metavar="A,B",
            default_text="none",
            commands=_API,
        ),
    ] = ""
    oauth_header_user: Annotated[
        str,
        text_option(
            "OAUTH_HEADER_USER", "Header with the user's name.", metavar="NAME", commands=_API
        ),
    ] = "X-Forwarded-User"
    oauth_header_email: Annotated[
        str,
        text_option(
            "OAUTH_HEADER_EMAIL",
            "Header with the user's e-mail address.",
            metavar="NAME",
            commands=_API,
        ),
    ] = "X-Forwarded-Email"
    oauth_header_groups: Annotated[
        str,
        text_option(
            "OAUTH_HEADER_GROUPS", "Header with the user's groups.", metavar="NAME", commands=_API
        ),
    ] = "X-Forwarded-Groups"
    swagger_enabled: Annotated[
        bool,
        Option(
            help="Show the endpoints of the hub API as a page at /api/v1/swagger.",
            env=("SWAGGER_ENABLED",),
            commands=_API,
        ),
    ] = False
    cors_origins: Annotated[
        tuple[str, ...],
        text_option(
            "CORS_ORIGINS",
            "Origins that CORS allows.",
            metavar="A,B",
            default_text="none",
            commands=_API,
        ),
    ] = ()
