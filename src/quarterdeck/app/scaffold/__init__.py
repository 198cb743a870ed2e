"""`quarterdeck new`: a project for an operator of one's own, from the files in `files/`.

Names in the files are `$module`, `$kind`, `$plural`, `$name` and `$group`. Definition and role are
made from the module itself, as `quarterdeck crds` and `quarterdeck rbac` make them later.
"""

import keyword
import re
import sys
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from quarterdeck.app.errors import SettingError
from quarterdeck.meta.names import check_dns1123_subdomain

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_FILES = {
    "module.py": "{module}.py",
    "test_module.py": "test_{module}.py",
    "sample.yaml": "sample.yaml",
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "Dockerfile": "Dockerfile",
    "gitignore": ".gitignore",
    "Chart.yaml": "chart/Chart.yaml",
    "values.yaml": "chart/values.yaml",
    "deployment.yaml": "chart/templates/deployment.yaml",
}
"""Files of the project, by the file they are made from."""


_TAKEN_KINDS = frozenset(
    {
        *("AGE", "Client", "Column", "Conditions", "ConfigMap", "Context", "Controller", "CRDS"),
        *("DEFINITION", "GVR", "KindInfo", "Manager", "Object", "ObjectMeta", "Path", "Struct"),
    }
)
"""Names that the module of a project, or its test, imports or sets."""


class Names(NamedTuple):
    """The names in a project."""

    name: str
    module: str
    kind: str
    plural: str
    group: str


def choose_names(name: str, *, kind: str = "", group: str = "example.com") -> Names:
    """Derive the names of a project called `name`.

    Raises:
        SettingError: if a name is not valid in Kubernetes.
    """
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"invalid name {name!r}: use up to 40 lower-case letters, digits and dashes, "
            "beginning with a letter"
        )
    kind = kind or "".join(part.capitalize() for part in name.split("-"))
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", kind):
        raise SettingError(f"invalid kind {kind!r}: use CamelCase, such as Database")
    if kind in _TAKEN_KINDS or keyword.iskeyword(kind):
        raise SettingError(
            f"invalid kind {kind!r}: the module of the project uses this name itself; choose "
            f"another with --kind, such as My{kind}"
        )
    if "." not in group or check_dns1123_subdomain(group):
        raise SettingError(f"invalid group {group!r}: use a domain you own, such as example.com")
    module = name.replace("-", "_")
    if _is_taken(module):
        raise SettingError(
            f"invalid name {name!r}: Python has a module {module} already, and tests could not "
            f"import the project's; choose another, such as {name}-operator"
        )
    return Names(name, module, kind, _build_plural(kind.lower()), group)


def write_project(folder: Path, names: Names) -> list[Path]:
    """Write the project into an empty or new folder; returns the files.

    Raises:
        SettingError: if the folder has files.
    """
    if folder.exists() and any(folder.iterdir()):
        raise SettingError(f"{folder} is not empty; choose another folder with --folder")
    written = []
    source = resources.files(__package__) / "files"
    for origin, target in _FILES.items():
        path = folder / target.format(module=names.module)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (source / f"{origin}.txt").read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(names._asdict()), encoding="utf-8")
        written.append(path)
    return [*written, *_write_generated(folder, names)]


def _is_taken(module: str) -> bool:
    """Whether `import MODULE` cannot find a file of that name, or finds another one first."""
    return (
        keyword.iskeyword(module)
        or module in sys.stdlib_module_names
        or module == __package__.partition(".")[0]
        or module in metadata.packages_distributions()
    )


def _write_generated(folder: Path, names: Names) -> list[Path]:
    """Write the definition and the role that are built from the written module."""
    from quarterdeck.app.project import load_project
    from quarterdeck.kit import yaml
    from quarterdeck.meta import crd
    from quarterdeck.runtime.controller import rbac

    project = load_project(str(folder / f"{names.module}.py"))
    definition, role = folder / "crd.yaml", folder / "role.yaml"
    definition.write_text(yaml.dump(crd.build_manifest(list(project.kinds))))
    rules = rbac.build_rules(project.controllers)
    role.write_text(yaml.dump(rbac.build_cluster_role(names.name, rules)))
    return [definition, role]


def _build_plural(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh)$", word) else "s")
