"""The user of a request."""

from collections.abc import Mapping

import msgspec

MASTERS_GROUP = "system:masters"
AUTHENTICATED_GROUP = "system:authenticated"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts"
"""Every service account is in it."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A caller, as authentication found it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    def to_info(self) -> dict[str, object]:
        """The `userInfo` of reviews and admission."""
        info: dict[str, object] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


def list_account_groups(namespace: str) -> tuple[str, ...]:
    """List the groups of every service account of a namespace."""
    return (SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}")


ANONYMOUS_USER = User(name="system:anonymous", groups=(UNAUTHENTICATED_GROUP,))
LOCAL_USER = User(name="quarterdeck:local", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
"""The user of the plain port, which listens on loopback only and on request only."""
