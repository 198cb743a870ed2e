"""`quarterdeck crds`: the CustomResourceDefinitions of the operators."""

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import Form, Operators, Output, split_names


def crds(operators: Operators = "", output: Output = Form.YAML) -> None:
    """Print CustomResourceDefinitions: `quarterdeck crds | kubectl apply -f -`."""
    from quarterdeck.app.parts import choose, list_kinds
    from quarterdeck.cli.output import documents
    from quarterdeck.meta import crd

    found = crd.build_manifests(list_kinds(choose(split_names(operators))))
    if output in (Form.NAME, Form.TABLE):
        print("\n".join(each["metadata"]["name"] for each in found))
    else:
        print(documents(found, output))


COMMAND = Command(crds)
