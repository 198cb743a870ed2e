"""`quarterdeck crds`: the CustomResourceDefinitions of the operators, or of a user's own kinds."""

from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import Form, Operators, Output, split_names
from quarterdeck.cli.parameters import Argument


def crds(
    modules: Annotated[
        list[str] | None,
        Argument(
            metavar="MODULE[:KIND]",
            help="Modules or files that declare kinds; without one, the operators' own kinds.",
        ),
    ] = None,
    operators: Operators = "",
    output: Output = Form.YAML,
) -> None:
    """Print CustomResourceDefinitions: `quarterdeck crds | kubectl apply -f -`."""
    from quarterdeck.app.parts import choose, list_kinds
    from quarterdeck.cli.output import format_documents
    from quarterdeck.meta import crd

    if modules:
        from quarterdeck.app.project import choose_kinds

        kinds = [kind for module in modules for kind in choose_kinds(module)]
    else:
        kinds = list(list_kinds(choose(split_names(operators))))
    found = crd.build_manifests(kinds)
    if output in (Form.NAME, Form.TABLE):
        print("\n".join(each["metadata"]["name"] for each in found))
    else:
        print(format_documents(found, output))


COMMAND = Command(crds)
