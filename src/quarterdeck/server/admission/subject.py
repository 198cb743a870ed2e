"""The value of `authorizer` in expressions: who asks, about what, and who decides."""

from typing import TYPE_CHECKING

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer

if TYPE_CHECKING:
    from quarterdeck.cel.library import authorizer as cel_authorizer


def build_subject(
    authorizer: Authorizer, attributes: AdmissionAttributes
) -> "cel_authorizer.Subject":
    """The authorizer as it answers for the user of a write."""
    from quarterdeck.cel.library import authorizer as library

    gvr = attributes.resource.gvr
    about = library.Attributes(
        group=gvr.group,
        resource=gvr.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return library.Subject(_Bridge(authorizer, attributes.user), request=about)


class _Bridge:
    """Answers the questions of expressions for the user of a request."""

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user

    def decide(self, attributes: "cel_authorizer.Attributes") -> "cel_authorizer.Answer":
        """Whether the user, or the service account the expression names, may do that."""
        from quarterdeck.cel.library.authorizer import Answer

        user = self._user
        if attributes.user and attributes.user != user.name:
            user = User(name=attributes.user)
        asked = Attributes(
            verb=attributes.verb,
            group=attributes.group,
            resource=attributes.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
            path=attributes.path,
        )
        return Answer(allowed=self._authorizer.allows(user, asked))
