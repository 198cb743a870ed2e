"""Typed parameters of a command function, read into an argparse parser.

A parameter is annotated with `Option` or `Argument`; its Python type and its default say the rest:

- `bool` is a switch, `list[str]` may be given several times, an enum is a choice;
- a parameter without a default is required.

A command with many flags takes them in groups: a parameter whose type is a `NamedTuple` stands for
the flags of its fields, which are annotated the same way and may be groups themselves.
"""

import argparse
import enum
import os
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from types import NoneType, UnionType
from typing import Any, NamedTuple, NoReturn


class UsageError(Exception):
    """Raised for arguments that the command does not accept; the message is one line."""


class Option:
    """A flag: its names, its help, and limits that its type does not express."""

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str = "",
        env: str = "",
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.env = env
        """An environment variable that gives the default."""
        self.minimum = minimum
        self.maximum = maximum


class Argument:
    """A positional argument."""

    def __init__(self, *, metavar: str, help: str) -> None:
        self.metavar = metavar
        self.help = help


class Parameter(NamedTuple):
    """One parameter of a command function."""

    name: str
    type: Any
    """Without `None`."""
    spec: Option | Argument | None
    """None for a parameter that the command itself fills."""
    default: Any
    is_required: bool
    members: "tuple[Parameter, ...]" = ()
    """The flags of a group."""


class _Formatter(argparse.HelpFormatter):
    """A help formatter as wide as the terminal; argparse's own would load `shutil` for it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_find_width() - 2)


def _find_width() -> int:
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, replaced, or no terminal
        return 80


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises errors, and does not accept abbreviated flags."""

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )
        self.add_argument("-h", "--help", action="help", help="Show this help.")

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments; the caller prints the line."""
        hint = self._suggest_flag(message)
        raise UsageError(f"{message}{hint or f'; see {self.prog} --help'}")

    def _suggest_flag(self, message: str) -> str:
        """The flag that the first unknown one was probably meant to be."""
        head, _, rest = message.partition("unrecognized arguments: ")
        flag = rest.partition(" ")[0].partition("=")[0]
        if head or not flag.startswith("--"):
            return ""
        from quarterdeck.kit.similar import suggest

        known = [each[2:] for each in self._option_string_actions if each.startswith("--")]
        return suggest(flag[2:], known).replace('"', '"--', 1)


def read_parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """The parameters of a function, or of a group of flags, in order."""
    hints = typing.get_type_hints(function, include_extras=True)
    defaults = _read_defaults(function)
    for name, hint in hints.items():
        if name == "return":
            continue
        spec = None
        if typing.get_origin(hint) is typing.Annotated:
            hint, spec = typing.get_args(hint)[:2]
        is_required = name not in defaults
        members = _read_members(hint)
        yield Parameter(name, _drop_none(hint), spec, defaults.get(name), is_required, members)


def _read_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of parameters; `inspect` has them too, but is slow to load."""
    if isinstance(function, type):
        return dict(getattr(function, "_field_defaults"))  # noqa: B009
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    last = function.__defaults__ or ()
    named = dict(zip(positional[len(positional) - len(last) :], last, strict=True))
    return named | (function.__kwdefaults__ or {})


def _read_members(hint: Any) -> tuple[Parameter, ...]:
    """The flags of a group; none for a tuple that has a field without a flag."""
    if not (isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")):
        return ()
    members = tuple(read_parameters(hint))
    return members if all(each.spec or each.members for each in members) else ()


def _drop_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return next(each for each in typing.get_args(hint) if each is not NoneType)
    return hint


def add_parameter(parser: Parser, parameter: Parameter) -> None:
    """Declare a parameter to a parser."""
    match parameter.spec:
        case Argument() as spec:
            _add_argument(parser, parameter, spec)
        case Option() as spec:
            _add_option(parser, parameter, spec)
        case None:
            for member in parameter.members:
                add_parameter(parser, member)


def add_json_alias(parser: Parser, parameters: Iterable[Parameter]) -> None:
    """Let `--json` mean `--output json` where a command has that, and no `--json` of its own."""
    flags = list(_expand_groups(parameters))
    if any(isinstance(each.spec, Option) and "--json" in each.spec.names for each in flags):
        return
    for each in flags:
        if isinstance(each.spec, Option) and "--output" in each.spec.names:
            parser.add_argument(
                "--json",
                dest=each.name,
                action="store_const",
                const=each.type("json"),
                default=argparse.SUPPRESS,
                help="Same as --output json.",
            )


def _expand_groups(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """Every flag, also those of groups."""
    for each in parameters:
        if each.members:
            yield from _expand_groups(each.members)
        else:
            yield each


def _add_argument(parser: Parser, parameter: Parameter, spec: Argument) -> None:
    extra: dict[str, Any] = {}
    if typing.get_origin(parameter.type) is list:
        extra["nargs"] = "+" if parameter.is_required else "*"
    elif not parameter.is_required:
        extra["nargs"] = "?"
    if not parameter.is_required:
        extra["default"] = parameter.default
    parser.add_argument(
        parameter.name,
        metavar=spec.metavar,
        help=_escape(spec.help),
        type=_build_reader(parameter),
        **extra,
    )


def _add_option(parser: Parser, parameter: Parameter, spec: Option) -> None:
    default = parameter.default
    if spec.env:
        default = os.environ.get(spec.env) or default
    extra: dict[str, Any] = {"help": _build_help(parameter, spec), "default": default}
    if parameter.type is bool:
        extra["action"] = "store_true"
    else:
        extra["type"] = _build_reader(parameter)
        extra["metavar"] = spec.metavar or _format_choices(parameter.type) or parameter.name.upper()
        extra["required"] = parameter.is_required
        if typing.get_origin(parameter.type) is list:
            extra["action"] = "append"
    names = sorted(spec.names, key=len)  # -n, --namespace
    parser.add_argument(*names, dest=parameter.name, **extra)


def _build_help(parameter: Parameter, spec: Option) -> str:
    text = spec.help
    if parameter.type is not bool and parameter.default not in (None, ""):
        text += f" (default: {parameter.default})"
    if spec.env:
        text += f" [env: {spec.env}]"
    return _escape(text)


def _escape(text: str) -> str:
    return text.replace("%", "%%")


def _format_choices(kind: Any) -> str:
    return "|".join(kind) if isinstance(kind, type) and issubclass(kind, enum.StrEnum) else ""


def _build_reader(parameter: Parameter) -> Callable[[str], Any]:
    """Build the function that converts the text of an argument to its type."""
    kind, spec = parameter.type, parameter.spec
    if typing.get_origin(kind) is list:
        (kind,) = typing.get_args(kind)
    if kind is int:
        return lambda text: _read_int(text, spec)
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return lambda text: _read_choice(text, kind)
    reader: Callable[[str], Any] = kind
    return reader


def _read_int(text: str, spec: Option | Argument | None) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if isinstance(spec, Option):
        if spec.minimum is not None and number < spec.minimum:
            raise argparse.ArgumentTypeError(f"{number} must be at least {spec.minimum}")
        if spec.maximum is not None and number > spec.maximum:
            raise argparse.ArgumentTypeError(f"{number} must be at most {spec.maximum}")
    return number


def _read_choice(text: str, kind: type[enum.StrEnum]) -> enum.StrEnum:
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(kind)
        raise argparse.ArgumentTypeError(f"{text!r} must be one of {known}") from None
