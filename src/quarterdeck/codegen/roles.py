"""ClusterRoles for the people who use our kinds: admin, editor and viewer of each.

They carry the aggregation labels, so that users with `admin`, `edit` or `view` in a namespace get
them without any binding.
"""

from collections.abc import Iterator

from quarterdeck import apis
from quarterdeck.app.user_roles import ROLES, build_manifest
from quarterdeck.codegen.files import NOTICE, File
from quarterdeck.kit import yaml

__all__ = ["ROLES", "build_files", "build_manifest"]

FOLDER = "config/rbac"


def build_files() -> Iterator[File]:
    """Three files per kind, named as kubebuilder names them."""
    for kind in apis.own_scheme().list_kinds():
        for role in ROLES:
            path = f"{FOLDER}/{kind.KIND.kind.lower()}_{role}_role.yaml"
            yield File(path, f"# {NOTICE}\n---\n{yaml.dump(build_manifest(kind.KIND, role))}")
