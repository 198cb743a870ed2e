"""Composes the authentication of viewers: sessions, tokens and an OpenID Connect issuer."""

import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from quarterdeck.app.errors import SettingError
from quarterdeck.app.hub_settings import HubSettings
from quarterdeck.kit.clock import Clock

if TYPE_CHECKING:
    from quarterdeck.client.interfaces import Api
    from quarterdeck.kit.authorization_code import CodeFlow
    from quarterdeck.services.hub.identity import Authenticator, TokenVerifier
    from quarterdeck.services.hub.web.oidc_login import OidcLogin
    from quarterdeck.services.hub.web.sessions import Sessions

_ALGORITHMS = ("RS256", "ES256")
"""Signatures of ID tokens that issuers use; never one with a shared secret."""


class Identity(NamedTuple):
    """The authentication of viewers, shared by the hub API and the dashboard."""

    authenticator: "Authenticator"
    sessions: "Sessions"
    oidc: "OidcLogin | None"
    forget: "tuple[Callable[[], None], ...]"
    """Functions that drop what is cached about viewers."""


def build_identity(
    settings: HubSettings, *, api: "Api", clock: Clock, links: Mapping[str, str] | None = None
) -> Identity:
    """Build the authentication of viewers; `links` maps one-time codes to tokens.

    Raises:
        SettingError: if the authority of the issuer cannot be read.
    """
    from quarterdeck.services.hub.identity import Authenticator, ProxyHeaders, parse_networks
    from quarterdeck.services.hub.openshift_groups import OpenShiftGroups
    from quarterdeck.services.hub.token_review import TokenReviewer
    from quarterdeck.services.hub.web.sessions import Sessions

    is_https = urlsplit(settings.hub_url).scheme == "https"
    sessions = Sessions(clock=clock, links=links, is_https=is_https)
    groups = OpenShiftGroups(api, clock=clock, ttl_s=settings.group_cache_ttl)
    reviewer = TokenReviewer(api, clock=clock)
    verifiers: list[TokenVerifier] = [sessions, reviewer]
    login = None
    if settings.hub_oidc_issuer:
        id_tokens, login = _build_oidc(settings, sessions, clock)
        verifiers.insert(1, id_tokens)
    proxy = ProxyHeaders(
        trusted=parse_networks(settings.oauth_trusted_proxies),
        user=settings.oauth_header_user,
        email=settings.oauth_header_email,
        groups=settings.oauth_header_groups,
    )
    authenticator = Authenticator(
        verifiers=verifiers,
        proxy=proxy,
        directory=groups,
        allows_anonymous=settings.hub_anonymous,
    )
    return Identity(authenticator, sessions, login, (reviewer.forget, groups.forget))


def check_identity_settings(settings: HubSettings) -> None:
    """Check the settings at the start, so that errors do not appear at the first request.

    Raises:
        SettingError: naming the setting.
    """
    import ipaddress

    for part in filter(None, (each.strip() for each in settings.oauth_trusted_proxies.split(","))):
        try:
            ipaddress.ip_network(part, strict=False)
        except ValueError as error:
            raise SettingError(
                f"invalid oauth_trusted_proxies {part!r} (OAUTH_TRUSTED_PROXIES): {error}"
            ) from error
    if settings.hub_url:
        parts = urlsplit(settings.hub_url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
            raise SettingError(
                f"invalid hub_url {settings.hub_url!r} (HUB_URL): must be http[s]://HOST[:PORT]"
            )
    if settings.hub_oidc_issuer:
        _check_issuer(settings)


def _check_issuer(settings: HubSettings) -> None:
    from quarterdeck.kit.oidc import OidcError, check_issuer_url

    try:
        check_issuer_url(settings.hub_oidc_issuer)
    except OidcError as error:
        raise SettingError(f"invalid hub_oidc_issuer (HUB_OIDC_ISSUER): {error}") from error
    if "openid" not in settings.hub_oidc_scopes.split():
        raise SettingError(
            f"invalid hub_oidc_scopes {settings.hub_oidc_scopes!r} (HUB_OIDC_SCOPES): "
            "must contain openid"
        )


def _build_oidc(
    settings: HubSettings, sessions: "Sessions", clock: Clock
) -> "tuple[TokenVerifier, OidcLogin]":
    from quarterdeck.services.hub.oidc import Claims, IdTokens
    from quarterdeck.services.hub.web.oidc_login import OidcLogin

    flow = _build_flow(settings, clock)
    claims = Claims(
        username=settings.hub_oidc_username_claim, groups=settings.hub_oidc_groups_claim
    )
    id_tokens = IdTokens(flow.issuer, claims)
    return id_tokens, OidcLogin(flow, id_tokens, sessions, public_url=settings.hub_url)


def _build_flow(settings: HubSettings, clock: Clock) -> "CodeFlow":
    from quarterdeck.kit.authorization_code import CodeFlow, Registration
    from quarterdeck.kit.oidc import Expectation, Issuer

    try:
        tls = ssl.create_default_context(cafile=settings.hub_oidc_ca_file or None)
    except OSError as error:
        raise SettingError(
            f"cannot read hub_oidc_ca_file {settings.hub_oidc_ca_file!r} "
            f"(HUB_OIDC_CA_FILE): {error}"
        ) from error
    expected = Expectation(
        issuer=settings.hub_oidc_issuer,
        audiences=(settings.hub_oidc_client_id,),
        algorithms=_ALGORITHMS,
    )
    registration = Registration(
        client_id=settings.hub_oidc_client_id,
        client_secret=settings.hub_oidc_client_secret,
        scopes=tuple(settings.hub_oidc_scopes.split()),
    )
    return CodeFlow(Issuer(expected, clock=clock, tls=tls), registration, tls=tls)
