"""Settings of the hub that concern OpenID Connect: tokens of viewers, and logging in."""

from typing import Annotated

import msgspec

from quarterdeck.app.option import HUB, UP, text_option
from quarterdeck.kit.redaction import Secret


class OidcSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The OpenID issuer that the hub trusts, and the hub's client there."""

    hub_oidc_issuer: Annotated[
        str,
        text_option(
            "HUB_OIDC_ISSUER",
            "OpenID Connect issuer of viewers.",
            metavar="URL",
            default_text="none",
            commands=(UP, HUB),
        ),
    ] = ""
    hub_oidc_client_id: Annotated[
        str,
        text_option(
            "HUB_OIDC_CLIENT_ID",
            "Client of the dashboard, and audience of tokens.",
            commands=(UP, HUB),
        ),
    ] = "quarterdeck"
    hub_oidc_client_secret: Annotated[
        Secret[str],
        text_option(
            "HUB_OIDC_CLIENT_SECRET",
            "Secret of that client.",
            default_text="none; a public client",
            commands=(UP, HUB),
        ),
    ] = Secret("")
    hub_oidc_scopes: Annotated[
        str,
        text_option(
            "HUB_OIDC_SCOPES",
            "Scopes that the dashboard requests; must contain openid.",
            metavar="A B",
            commands=(UP, HUB),
        ),
    ] = "openid email profile"
    hub_oidc_username_claim: Annotated[
        str,
        text_option(
            "HUB_OIDC_USERNAME_CLAIM",
            "Claim with the user's name.",
            metavar="NAME",
            commands=(UP, HUB),
        ),
    ] = "email"
    hub_oidc_groups_claim: Annotated[
        str,
        text_option(
            "HUB_OIDC_GROUPS_CLAIM",
            "Claim with the user's groups.",
            metavar="NAME",
            commands=(UP, HUB),
        ),
    ] = "groups"
    hub_oidc_ca_file: Annotated[
        str,
        text_option(
            "HUB_OIDC_CA_FILE",
            "CA certificates that verify the issuer.",
            metavar="FILE",
            default_text="those of the system",
            commands=(UP, HUB),
        ),
    ] = ""
    hub_url: Annotated[
        str,
        text_option(
            "HUB_URL",
            "Address of the hub as browsers use it, for the redirect after a login.",
            metavar="URL",
            default_text="the Host header of the request",
            commands=(UP, HUB),
        ),
    ] = ""
