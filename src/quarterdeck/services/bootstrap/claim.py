"""The claim that a machine fulfils, as the service names it."""

import msgspec


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One claim; the UID distinguishes it from an earlier one of the same name."""

    namespace: str
    name: str
    uid: str
