"""POST of reviews, which are answered and never stored.

`SelfSubjectReview`, `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`,
`SelfSubjectRulesReview` and `TokenReview`.
"""

from collections.abc import Callable

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.authentication.authenticator import NotReady
from quarterdeck.server.authentication.bearer_token import authenticate_token
from quarterdeck.server.authentication.service_accounts.tokens import AccountNotFound, WrongAudience
from quarterdeck.server.authorization.policy_rule import to_json
from quarterdeck.server.core import Core
from quarterdeck.server.handlers.access_review import review_access, review_self_access
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import BadRequest, Unauthorized

_TOKEN_REVIEW = "TokenReview"
Review = Callable[[Core, Call, Object], None]
"""Fills in the status of a review, in place."""


async def handle(core: Core, call: Call) -> responses.Response:
    """Answer a review; 201 with its status filled in."""
    options = CreateOptions.parse(call.request.query)
    write_options = parse_write_options(call, options, "CreateOptions")
    validation = parse_field_validation(options)
    body = await decoder.read_body(call, core.options.max_body_bytes)
    value = await core.worker.run(
        len(body), lambda: decoder.decode_object(call, body, call.resource.gvk, validation)
    )
    if call.resource.namespaced:
        check_namespace(call, value["metadata"])
    value.pop("status", None)
    value = field_managers.track_fields(core, call, value, None, manager=write_options.manager)
    value["metadata"].setdefault("creationTimestamp", None)
    if call.resource.kind == _TOKEN_REVIEW:
        await _fetch_keys(core, value)
    _REVIEWS[call.resource.kind](core, call, value)
    return responses.build_object(core, call, value, 201)


async def _fetch_keys(core: Core, value: Object) -> None:
    """Fetch the keys of the token's issuer, if they are needed to check the token."""
    token = (value.get("spec") or {}).get("token") or ""
    try:
        authenticate_token(token, core.authenticators, core.accounts.audiences)
    except NotReady as error:
        await error.fetch()
    except Unauthorized:
        return


def _review_self(core: Core, call: Call, value: Object) -> None:
    value["metadata"]["creationTimestamp"] = format_time(core.clock.now())
    value["status"] = {"userInfo": call.user.to_info()}


def _review_self_rules(core: Core, call: Call, value: Object) -> None:
    """Fill in the rules of the user: those for resources, and those for non-resource paths."""
    namespace = (value.get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise BadRequest("no namespace on request")
    rules = core.authorizer.list_rules(call.user, namespace)
    value["spec"] = {}
    value["metadata"].pop("managedFields", None)
    value["status"] = {
        "resourceRules": [to_json(rule) for rule in rules if not rule.non_resource_urls],
        "nonResourceRules": [to_json(rule) for rule in rules if rule.non_resource_urls],
        "incomplete": False,
    }


def _review_token(core: Core, call: Call, value: Object) -> None:
    spec = value.get("spec") or {}
    if not (token := spec.get("token")):
        raise BadRequest("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or list(core.accounts.audiences)
    try:
        user = authenticate_token(token, core.authenticators, audiences)
    except Unauthorized as error:
        why = "invalid bearer token"
        if isinstance(error, WrongAudience | AccountNotFound):
            why = f"[{why}, {error}]"
        value["status"] = {"user": {}, "error": why}
        return
    value["status"] = {
        "authenticated": True,
        "user": user.to_info(),
        "audiences": _select_audiences(core, token, audiences),
    }


def _select_audiences(core: Core, token: str, audiences: list[str]) -> list[str]:
    """Select the audiences that a token is for; static tokens are for those of this API."""
    return [each for each in audiences if _is_for(core, token, each)]


def _is_for(core: Core, token: str, audience: str) -> bool:
    try:
        authenticate_token(token, core.authenticators, [audience])
    except Unauthorized:
        return False
    return True


_REVIEWS: dict[str, Review] = {
    "SelfSubjectReview": _review_self,
    "SelfSubjectAccessReview": review_self_access,
    "SubjectAccessReview": review_access,
    "LocalSubjectAccessReview": review_access,
    "SelfSubjectRulesReview": _review_self_rules,
    _TOKEN_REVIEW: _review_token,
}
