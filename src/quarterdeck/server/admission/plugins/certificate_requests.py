"""Rules of certificate signing requests: their requester, who may approve and sign, and groups."""

import base64
import binascii
from collections.abc import Collection

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.authentication.user import MASTERS_GROUP
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer
from quarterdeck.server.registry.resource import Object

APPROVAL = "CertificateApproval"
SIGNING = "CertificateSigning"
SUBJECT = "CertificateSubjectRestriction"
CHECKS = (APPROVAL, SIGNING, SUBJECT)
RESOURCE = "certificatesigningrequests.certificates.k8s.io"
_GROUP = "certificates.k8s.io"
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
_IDENTITY = ("username", "uid", "groups", "extra")


class CertificateRequests:
    """CertificateApproval, CertificateSigning and CertificateSubjectRestriction in one.

    The requester is recorded whichever of them run, because Kubernetes does so outside of plugins.
    """

    resources = frozenset({RESOURCE})

    def __init__(self, authorizer: Authorizer, checks: Collection[str] = CHECKS) -> None:
        """Run those of the three plugins that `checks` names; other names in it are ignored."""
        self._authorizer = authorizer
        self._checks = frozenset(CHECKS) & frozenset(checks)

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Record the authenticated requester in the spec; a client cannot set or change it."""
        if not _is_request(attributes) or attributes.value is None or attributes.subresource:
            return
        spec = attributes.value.setdefault("spec", {})
        found = attributes.user.to_info()
        if attributes.old is not None:
            found = attributes.old.get("spec") or {}
        for member in _IDENTITY:
            spec.pop(member, None)
            if member in found:
                spec[member] = found[member]

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse approvals, signatures and groups that the user has no right to."""
        if not _is_request(attributes) or attributes.value is None:
            return
        match attributes.subresource:
            case "approval" if APPROVAL in self._checks:
                self._check_signer(attributes, "approve")
            case "status" if SIGNING in self._checks:
                if _changes_certificate(attributes):
                    self._check_signer(attributes, "sign")
            case "" if SUBJECT in self._checks:
                _check_groups(attributes)

    def _check_signer(self, attributes: AdmissionAttributes, verb: str) -> None:
        signer = str(((attributes.old or {}).get("spec") or {}).get("signerName") or "")
        names = (signer, f"{signer.partition('/')[0]}/*")
        if not any(
            self._authorizer.allows(
                attributes.user,
                Attributes(verb, group=_GROUP, version="*", resource="signers", name=name),
            )
            for name in names
        ):
            why = f'user not permitted to {verb} requests with signerName "{signer}"'
            raise build_forbidden(attributes, why)


def _is_request(attributes: AdmissionAttributes) -> bool:
    return attributes.resource.gvr.group_resource == RESOURCE and attributes.verb != "delete"


def _changes_certificate(attributes: AdmissionAttributes) -> bool:
    values = (attributes.value or {}, attributes.old or {})
    new, old = ((value.get("status") or {}) for value in values)
    if new.get("certificate") != old.get("certificate"):
        return True
    return _find_failed(new) != _find_failed(old)


def _find_failed(status: Object) -> list[Object]:
    return [each for each in status.get("conditions") or () if each.get("type") == "Failed"]


def _check_groups(attributes: AdmissionAttributes) -> None:
    """Refuse requests for client certificates of the group system:masters from every user."""
    assert attributes.value is not None
    spec = attributes.value.get("spec") or {}
    if spec.get("signerName") != _CLIENT_SIGNER:
        return
    if MASTERS_GROUP in _list_organizations(str(spec.get("request") or "")):
        why = f"use of {_CLIENT_SIGNER} signer with {MASTERS_GROUP} group is not allowed"
        raise build_forbidden(attributes, why)


def _list_organizations(request: str) -> list[str]:
    """List the groups that a request, PEM in base64, is for; validation has checked its shape."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request))
    except (ValueError, binascii.Error):
        return []
    found = parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [str(each.value) for each in found]
