"""Settings of the machines operator alone."""

from typing import Annotated

import msgspec

from quarterdeck.app.option import UP, Option

MIN_CERTIFICATE_S, MAX_CERTIFICATE_S = 30, 3600


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the bootstrap service in `up`."""

    machine_certificate_seconds: Annotated[
        int,
        Option(
            help="Lifetime of machine certificates; they are renewed after half of it.",
            env=("QUARTERDECK_MACHINE_CERTIFICATE_SECONDS",),
            commands=(UP,),
            metavar="N",
            minimum=MIN_CERTIFICATE_S,
            maximum=MAX_CERTIFICATE_S,
        ),
    ] = MAX_CERTIFICATE_S
