"""Settings of the hub that concern OpenID Connect: tokens of viewers, and logging in."""

from typing import Annotated

import msgspec

from quarterdeck.app.settings import HUB, UP, Option
from quarterdeck.kit.redaction import Secret


def _option(env: str, text: str, metavar: str = "TEXT", default_text: str = "") -> Option:
    return Option(
        help=text, env=(env,), metavar=metavar, default_text=default_text, commands=(UP, HUB)
    )


class OidcSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which issuer the hub trusts, and how it is known there."""

    hub_oidc_issuer: Annotated[
        str,
        _option("HUB_OIDC_ISSUER", "OpenID Connect issuer of viewers.", "URL", "none"),
    ] = ""
    hub_oidc_client_id: Annotated[
        str,
        _option("HUB_OIDC_CLIENT_ID", "Client of the dashboard, and audience of tokens.", "TEXT"),
    ] = "quarterdeck"
    hub_oidc_client_secret: Annotated[
        Secret[str],
        _option(
            "HUB_OIDC_CLIENT_SECRET",
            "Secret of that client.",
            "TEXT",
            "none; a public client",
        ),
    ] = Secret("")
    hub_oidc_scopes: Annotated[
        str,
        _option(
            "HUB_OIDC_SCOPES", "Scopes that the dashboard requests; must contain openid.", "A B"
        ),
    ] = "openid email profile"
    hub_oidc_username_claim: Annotated[
        str, _option("HUB_OIDC_USERNAME_CLAIM", "Claim with the user's name.", "NAME")
    ] = "email"
    hub_oidc_groups_claim: Annotated[
        str, _option("HUB_OIDC_GROUPS_CLAIM", "Claim with the user's groups.", "NAME")
    ] = "groups"
    hub_oidc_ca_file: Annotated[
        str,
        _option(
            "HUB_OIDC_CA_FILE",
            "CA certificates that verify the issuer.",
            "FILE",
            "those of the system",
        ),
    ] = ""
    hub_url: Annotated[
        str,
        _option(
            "HUB_URL",
            "Address of the hub as browsers use it, for the redirect after a login.",
            "URL",
            "the Host header of the request",
        ),
    ] = ""
