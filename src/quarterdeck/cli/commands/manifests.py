"""`quarterdeck manifests`: the manifests for running in a cluster, without kustomize."""

from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Form, Operators, Output, split_names
from quarterdeck.cli.parameters import Option


def manifests(
    image: Annotated[
        str, Option("--image", metavar="IMAGE", help="Container image of the operators.")
    ] = "",
    namespace: Annotated[
        str, Option("--namespace", "-n", metavar="NAME", help="Namespace of the operators.")
    ] = "",
    operators: Operators = "",
    without_crds: Annotated[
        bool,
        Option("--without-crds", help="Leave out the CRDs: deleting a CRD deletes its objects."),
    ] = False,
    without_namespace: Annotated[
        bool,
        Option(
            "--without-namespace",
            help="Leave out the Namespace: deleting it deletes everything in it.",
        ),
    ] = False,
    samples: Annotated[bool, Option("--samples", help="Print sample objects instead.")] = False,
    output: Output = Form.YAML,
) -> None:
    """Print manifests: `quarterdeck manifests | kubectl apply -f -`."""
    from quarterdeck.app.installation import IMAGE, NAMESPACE, Installation
    from quarterdeck.app.manifests import build_all
    from quarterdeck.app.parts import choose
    from quarterdeck.cli.output import format_documents
    from quarterdeck.meta import names

    parts = choose(split_names(operators))
    found: list[dict[str, Any]]
    if samples:
        found = [dict(sample) for part in parts for sample in part.samples()]
    else:
        if namespace and (problems := names.check_dns1123_label(namespace)):
            raise CommandError(f"invalid --namespace {namespace!r}: {problems[0]}", REFUSED)
        installation = Installation(namespace or NAMESPACE, image or IMAGE)
        found = [dict(each) for each in build_all(installation, parts)]
        left_out = {
            *(["CustomResourceDefinition"] if without_crds else ()),
            *(["Namespace"] if without_namespace else ()),
        }
        found = [each for each in found if each["kind"] not in left_out]
    if output in (Form.NAME, Form.TABLE):
        print("\n".join(f"{each['kind']}/{each['metadata']['name']}" for each in found))
    else:
        print(format_documents(found, output))


COMMAND = Command(manifests)
