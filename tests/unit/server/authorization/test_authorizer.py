"""Refusals of the authorizer."""

from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, build_forbidden


def test_refusal_names_user_verb_and_place() -> None:
    alice = User(name="alice")
    attributes = Attributes(
        "update", group="apps", resource="deployments", subresource="scale", namespace="n", name="d"
    )
    assert build_forbidden(alice, attributes).message == (
        'deployments.apps "d" is forbidden: User "alice" cannot update resource'
        ' "deployments/scale" in API group "apps" in the namespace "n"'
    )
