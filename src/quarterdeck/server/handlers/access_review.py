"""Access reviews of the caller or of another user: validation and the authorizer's decision."""

from collections.abc import Iterator

from quarterdeck.meta.field import Bare, FieldError, invalid, quote
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.wire.status import Invalid

_ATTRIBUTES = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
_LOCAL = "LocalSubjectAccessReview"


def review_self_access(core: Core, call: Call, value: Object) -> None:
    """Fill in whether the caller may perform the action."""
    value["status"] = _decide(core, call, call.user, value)


def review_access(core: Core, call: Call, value: Object) -> None:
    """Fill in whether the user of the review may perform the action."""
    spec = value.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        text = "at least one of user or group must be specified"
        raise _build_invalid(call, [invalid("spec.user", "", text)])
    user = User(
        name=spec.get("user") or "",
        uid=spec.get("uid") or "",
        groups=tuple(spec.get("groups") or ()),
    )
    value["status"] = _decide(core, call, user, value)


def _decide(core: Core, call: Call, user: User, value: Object) -> Object:
    spec = value.get("spec") or {}
    if problems := [*_validate(spec), *_validate_local(call, value)]:
        raise _build_invalid(call, problems)
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if path is not None:
        attributes = Attributes(verb=path.get("verb") or "", path=path.get("path") or "/")
    else:
        attributes = Attributes(**{name: (asked or {}).get(name) or "" for name in _ATTRIBUTES})
    status: Object = {"allowed": core.authorizer.allows(user, attributes)}
    if status["allowed"] and (reason := core.authorizer.explain(user, attributes)):
        status["reason"] = reason
    if ignored := list(_find_ignored_selectors(asked or {})):
        status["evaluationError"] = ", ".join(ignored)
    return status


def _build_invalid(call: Call, problems: list[FieldError]) -> Invalid:
    """Build the 422 of a review; it does not name the kind, as in Kubernetes."""
    return Invalid.of("", "", problems, group=call.resource.gvr.group)


def _validate(spec: Object) -> Iterator[FieldError]:
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        yield invalid("spec.nonResourceAttributes", _show_path(path), text)
    if asked is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid("spec.resourceAttributes", None, text)
    for name in ("fieldSelector", "labelSelector"):
        selector = (asked or {}).get(name) or {}
        if selector.get("rawSelector") and selector.get("requirements"):
            field = f"spec.resourceAttributes.{name}.rawSelector"
            text = "may not specified at the same time as requirements"
            yield invalid(field, selector["rawSelector"], text)


def _validate_local(call: Call, value: Object) -> Iterator[FieldError]:
    if call.resource.kind != _LOCAL:
        return
    spec, namespace = value.get("spec") or {}, value["metadata"].get("namespace") or ""
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and (found := asked.get("namespace") or "") != namespace:
        text = "must match metadata.namespace"
        yield invalid("spec.resourceAttributes.namespace", found, text)
    if path is not None:
        text = "disallowed on this kind of request"
        yield invalid("spec.nonResourceAttributes", _show_path(path), text)


def _show_path(path: Object) -> Bare:
    shown = f"Path:{quote(path.get('path') or '')}, Verb:{quote(path.get('verb') or '')}"
    return Bare(f"authorization.NonResourceAttributes{{{shown}}}")


def _find_ignored_selectors(asked: Object) -> Iterator[str]:
    """Yield an error for each selector with an invalid requirement; the decision ignores it."""
    for name in ("fieldSelector", "labelSelector"):
        requirements = (asked.get(name) or {}).get("requirements") or ()
        if not all(_is_understood(name, requirement) for requirement in requirements):
            yield f"spec.resourceAttributes.{name} ignored due to parse error"


def _is_understood(selector: str, requirement: Object) -> bool:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if selector == "fieldSelector":
        return operator in ("In", "NotIn") and len(values) == 1
    return operator in _LABEL_OPERATORS and bool(values) == (operator in ("In", "NotIn"))
