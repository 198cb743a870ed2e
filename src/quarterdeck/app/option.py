"""The description of a setting: its flag, its environment names, its limits."""

from typing import NewType

import msgspec

Port = NewType("Port", int)

UP = "up"
RUN = "run"
HUB = "hub"
INGESTER = "ingester"
_DAY_S = 86_400


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """How a setting can be given, and its limits."""

    help: str
    env: tuple[str, ...] = ()
    """Environment names, the first that is set wins."""
    aliases: tuple[str, ...] = ()
    """Further flags, which existing programs have."""
    commands: tuple[str, ...] = (UP, RUN)
    """The commands that have it as a flag."""
    metavar: str = ""
    default_text: str = ""
    """The default as help shows it, where the value alone does not say it."""
    minimum: int = 0
    maximum: int = 65535
    """Limits of a number."""
    is_clamped: bool = False
    """Whether a number below the minimum in a variable means the minimum, and invalid text the
    default, for compatibility with existing programs. Flags and files are checked strictly."""


def port_option(purpose: str, *env: str, commands: tuple[str, ...] = (UP,)) -> Option:
    """Build the option of a port to listen on."""
    return Option(
        help=f"{purpose}; 0 for any free port.",
        env=env,
        commands=commands,
        metavar="N",
    )


def text_option(
    env: str,
    purpose: str,
    *,
    metavar: str = "TEXT",
    default_text: str = "",
    commands: tuple[str, ...] = (UP, RUN),
) -> Option:
    """Build the option of a text, or of several texts separated by commas."""
    return Option(
        help=purpose, env=(env,), metavar=metavar, default_text=default_text, commands=commands
    )


def number_option(
    env: str,
    purpose: str,
    *,
    minimum: int,
    maximum: int = _DAY_S,
    commands: tuple[str, ...] = (UP, RUN),
) -> Option:
    """Build the option of a whole number whose variable comes from an existing program.

    The default maximum is that of times in seconds: a day.
    """
    return Option(
        help=purpose,
        env=(env,),
        metavar="N",
        minimum=minimum,
        maximum=maximum,
        is_clamped=True,
        commands=commands,
    )


def fraction_option(env: str, purpose: str, *, maximum: int) -> Option:
    """Build the option of a number from 0 that may have a fraction."""
    return Option(help=purpose, env=(env,), metavar="X", maximum=maximum)
