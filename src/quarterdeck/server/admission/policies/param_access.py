"""Checks that authors of policies and bindings may read the objects these use as parameters.

The parameters of a policy can be shown by its messages. So the author of a policy or a binding
must be allowed to read the objects that it refers to.
"""

from typing import NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import forbidden
from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Invalid

_GROUP = "admissionregistration.k8s.io"
_POLICIES = frozenset({"validatingadmissionpolicies", "mutatingadmissionpolicies"})
_BINDINGS = {
    "validatingadmissionpolicybindings": f"validatingadmissionpolicies.{_GROUP}",
    "mutatingadmissionpolicybindings": f"mutatingadmissionpolicies.{_GROUP}",
}
"""The stored resource of the policies that each kind of binding refers to."""
_ALL = "*"


class _Target(NamedTuple):
    """The resource that a policy reads as `params`; `*` where it is not known."""

    group: str = _ALL
    version: str = _ALL
    resource: str = _ALL


class ParamAccess(ValidatingPlugin):
    """Checks that writers of policies and bindings may read the params these refer to."""

    resources = frozenset(f"{name}.{_GROUP}" for name in (*_POLICIES, *_BINDINGS))

    def __init__(self, store: Store, registry: Registry, authorizer: Authorizer) -> None:
        self._store = store
        self._registry = registry
        self._authorizer = authorizer

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse references to params that the writer may not read.

        Raises:
            Invalid: as Kubernetes answers it.
        """
        gvr, value = attributes.resource.gvr, attributes.value
        if gvr.group != _GROUP or value is None or attributes.subresource:
            return
        if MASTERS_GROUP in attributes.user.groups:
            return
        if gvr.resource in _POLICIES:
            self._check_policy(attributes, get_mapping(value, "spec"))
        elif gvr.resource in _BINDINGS:
            self._check_binding(attributes, get_mapping(value, "spec"))

    def _check_policy(self, attributes: AdmissionAttributes, spec: Object) -> None:
        kind = spec.get("paramKind")
        before = get_mapping(attributes.old or {}, "spec").get("paramKind")
        if kind is None or kind == before:
            return
        target, _ = self._resolve(kind)
        asked = Attributes("get", *target, namespace=_ALL, name=_ALL)
        if not self._authorizer.allows(attributes.user, asked):
            raise self._refuse(
                attributes,
                "spec.paramKind",
                f'user {_format_user(attributes.user)} must have "get" permission on all objects of'
                f" the referenced paramKind (kind={kind.get('kind')},"
                f" apiVersion={kind.get('apiVersion')})",
            )

    def _check_binding(self, attributes: AdmissionAttributes, spec: Object) -> None:
        reference = spec.get("paramRef")
        old = get_mapping(attributes.old or {}, "spec")
        if reference is None or (reference, spec.get("policyName")) == (
            old.get("paramRef"),
            old.get("policyName"),
        ):
            return
        policy = self._store.get_pending(
            StoreKey(_BINDINGS[attributes.resource.gvr.resource], "", spec.get("policyName") or "")
        )
        kind = None
        if policy is not None:
            kind = get_mapping(kit_json.decode(policy.value), "spec").get("paramKind")
        target, is_known = self._resolve(kind) if kind is not None else (_Target(), True)
        verb = "get" if reference.get("name") else "list"
        asked = Attributes(
            verb,
            *target,
            namespace=reference.get("namespace") or "",
            name=reference.get("name") or "",
        )
        if self._authorizer.allows(attributes.user, asked):
            return
        user = _format_user(attributes.user)
        text = f'user {user} does not have "{verb}" permission on the object referenced by paramRef'
        if policy is None or not is_known:
            what = f"get policy {spec.get('policyName')}"
            if policy is not None and kind is not None:
                shown = f"&ParamKind{{APIVersion:{kind['apiVersion']},Kind:{kind['kind']},}}"
                what = f"resolve paramKind {shown}"
            text = (
                f"unable to {what} to determine minimum required permissions and user {user} does"
                f' not have "{verb}" permission for all groups, versions and resources'
            )
        raise self._refuse(attributes, "spec.paramRef", text)

    def _resolve(self, kind: Object) -> tuple[_Target, bool]:
        """Return the resource that a paramKind names, and whether it is served."""
        group, _, version = str(kind.get("apiVersion")).rpartition("/")
        resource = self._registry.find_by_kind(GVK(group, version, str(kind.get("kind"))))
        if resource is None:
            return _Target(group, version), False
        return _Target(group, version, resource.gvr.resource), True

    def _refuse(self, attributes: AdmissionAttributes, path: str, text: str) -> Invalid:
        kind = attributes.resource.kind
        return Invalid.of(kind, attributes.name, [forbidden(path, text)], group=_GROUP)


def _format_user(user: User) -> str:
    """A user as Go prints its struct."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
