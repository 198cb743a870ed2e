"""OwnerReferencesPermissionEnforcement: setting owner references requires further permissions.

Deleting an owner deletes the object, so the writer must be allowed to delete the object. With
`blockOwnerDeletion` the object delays the deletion of its owner, so the writer must be allowed to
update the finalizers of the owner. OpenShift runs this plugin; an operator whose role lacks these
permissions fails there.
"""

from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object

NAME = "OwnerReferencesPermissionEnforcement"
_EXEMPT = ("pods", "status")
"""Not checked: kubelets write the status of pods that they are not permitted to delete."""
_FINALIZE_ALL = Attributes(
    "update", group="*", version="*", resource="*", subresource="finalizers", name="*"
)


class OwnerReferencesPermissionEnforcement(ValidatingPlugin):
    """Checks writers of owner references."""

    def __init__(self, authorizer: Authorizer, registry: Registry) -> None:
        self._authorizer = authorizer
        self._registry = registry

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse owner references that the user is not permitted to set.

        Raises:
            Forbidden: naming the permission that is missing.
        """
        gvr, value = attributes.resource.gvr, attributes.value
        if value is None or (gvr.group_resource, attributes.subresource) == _EXEMPT:
            return
        owners, before = _list_owners(value), _list_owners(attributes.old)
        if owners == before:
            return
        if attributes.verb != "create" and not self._may_delete(attributes):
            why = "cannot set an ownerRef on a resource you can't delete: , <nil>"
            raise build_forbidden(attributes, why)
        blocked = {each.get("uid") for each in before if each.get("blockOwnerDeletion")}
        new = [
            each
            for each in owners
            if each.get("blockOwnerDeletion") and each.get("uid") not in blocked
        ]
        if new and not self._authorizer.allows(attributes.user, _FINALIZE_ALL):
            for owner in new:
                self._check_finalizers(attributes, owner)

    def _may_delete(self, attributes: AdmissionAttributes) -> bool:
        gvr = attributes.resource.gvr
        asked = Attributes(
            "delete",
            group=gvr.group,
            version=gvr.version,
            resource=gvr.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        return self._authorizer.allows(attributes.user, asked)

    def _check_finalizers(self, attributes: AdmissionAttributes, owner: Object) -> None:
        api_version, kind = str(owner.get("apiVersion")), str(owner.get("kind"))
        group, _, version = api_version.rpartition("/")
        resource = self._registry.find_by_kind(GVK(group, version, kind))
        if resource is None:
            raise build_forbidden(
                attributes,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for"
                f' APIVersion {api_version} Kind {kind}: no matches for kind "{kind}" in version'
                f' "{api_version}"',
            )
        asked = Attributes(
            "update",
            group=resource.gvr.group,
            version=resource.gvr.version,
            resource=resource.gvr.resource,
            subresource="finalizers",
            namespace=attributes.namespace if resource.namespaced else "",
            name=str(owner.get("name")),
        )
        if not self._authorizer.allows(attributes.user, asked):
            raise build_forbidden(
                attributes,
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't"
                " set finalizers on: , <nil>",
            )


def _list_owners(value: Object | None) -> list[Object]:
    found = ((value or {}).get("metadata") or {}).get("ownerReferences")
    return found if isinstance(found, list) else []
