"""`quarterdeck rbac`: the permissions of a user's own operator."""

from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Form, Output
from quarterdeck.cli.parameters import Argument, Option


def rbac(
    module: Annotated[
        str, Argument(metavar="MODULE", help="File or module of the operator, such as operator.py.")
    ],
    name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of the role (default: of the module).")
    ] = "",
    output: Output = Form.YAML,
) -> None:
    """Print a ClusterRole from what controllers declare: `quarterdeck rbac operator.py`."""
    from quarterdeck.app.project import load_project
    from quarterdeck.cli.output import format_documents
    from quarterdeck.runtime.controller import rbac as rules

    project = load_project(module)
    if not project.controllers:
        raise CommandError(f"{module} has no Controller at its top level", REFUSED)
    role = rules.build_cluster_role(
        name or project.name.replace("_", "-"), rules.build_rules(project.controllers)
    )
    if output in (Form.NAME, Form.TABLE):
        print(role["metadata"]["name"])
    else:
        print(format_documents([role], output))


COMMAND = Command(rbac)
