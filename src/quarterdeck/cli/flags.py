"""Flags and arguments that several commands share, so that they read the same everywhere."""

import enum
from collections.abc import Sequence
from typing import Annotated

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.parameters import Argument, Option

_MAX_PORT = 65535


class Form(enum.StrEnum):
    """What `--output` may be."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"
    NAME = "name"


class ReportForm(enum.StrEnum):
    """What `--output` may be for a result that is not a list of objects."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


class ManifestForm(enum.StrEnum):
    """What `--output` may be for manifests that must be printed in full."""

    YAML = "yaml"
    JSON = "json"


def port_option(flag: str, help: str) -> Option:
    """A flag for a port number."""
    return Option(flag, metavar="N", help=help, minimum=0, maximum=_MAX_PORT)


Output = Annotated[Form, Option("--output", "-o", help="Output format.")]
ReportOutput = Annotated[ReportForm, Option("--output", "-o", help="Output format.")]
ManifestOutput = Annotated[ManifestForm, Option("--output", "-o", help="Output format.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Kubeconfig = Annotated[str, Option("--kubeconfig", metavar="PATH", help="Kubeconfig to use.")]
DataDir = Annotated[str, Option("--data-dir", metavar="DIR", help="Folder of all data.")]
Context = Annotated[
    str, Option("--context", metavar="NAME", help="Context of the kubeconfig to use.")
]
Namespace = Annotated[
    str,
    Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace (default: the namespace of the context).",
    ),
]
AllNamespaces = Annotated[bool, Option("--all-namespaces", "-A", help="Use all namespaces.")]
LabelSelector = Annotated[
    str, Option("--selector", "-l", metavar="LABELS", help="Label selector, such as app=web.")
]
Operators = Annotated[
    str, Option("--operators", metavar="A,B", help="Select only these operators (default: all).")
]
Files = Annotated[
    list[str] | None,
    Option("--filename", "-f", metavar="PATH", help="File, folder, or - for standard input."),
]
Kustomization = Annotated[
    str, Option("--kustomize", "-k", metavar="DIR", help="Folder with a kustomization.yaml.")
]
Kind = Annotated[str, Argument(metavar="KIND", help="Kind, plural or short name, such as pods.")]
Names = Annotated[list[str] | None, Argument(metavar="NAME", help="Names of objects.")]
OneName = Annotated[str, Argument(metavar="NAME", help="Name of one object.")]


def split_target(kind: str, name: str) -> tuple[str, str]:
    """`KIND NAME` and `KIND/NAME` mean the same.

    Raises:
        CommandError: if both are given.
    """
    head, slash, tail = kind.partition("/")
    if not slash:
        return kind, name
    if name or not (head and tail):
        raise CommandError(f"invalid target {kind!r}: give KIND NAME or KIND/NAME", REFUSED)
    return head, tail


def split_targets(kind: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """`KIND NAME...` and `KIND/NAME...` mean the same; a kind alone has an empty name.

    Raises:
        CommandError: if both are given, or a part is missing.
    """
    for each in names:
        if ("/" in each) != ("/" in kind):
            raise CommandError(f"invalid target {each!r}: give KIND NAME or KIND/NAME", REFUSED)
    if "/" in kind:
        return [split_target(each, "") for each in (kind, *names)]
    return [(kind, each) for each in names] or [(kind, "")]


def split_names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
