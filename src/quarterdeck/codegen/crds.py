"""CRD manifests as kubebuilder lays them out: `config/crd/bases/<group>_<plural>.yaml`."""

from collections.abc import Iterator

from quarterdeck import apis
from quarterdeck.codegen.files import NOTICE, File
from quarterdeck.kit import yaml
from quarterdeck.meta import crd

FOLDER = "config/crd/bases"


class TooLarge(ValueError):
    """Raised when a manifest is larger than `kubectl apply` can carry."""


def build_files() -> Iterator[File]:
    """One file per kind, and the kustomization that lists them."""
    manifests = list(build_bases())
    names = sorted(file.path.removeprefix("config/crd/") for file in manifests)
    listing = yaml.dump(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": names,
        }
    )
    yield from manifests
    yield File("config/crd/kustomization.yaml", f"# {NOTICE}\n---\n{listing}")


def build_bases() -> Iterator[File]:
    """One file per kind."""
    for document in crd.build_manifests(apis.own_scheme().list_kinds()):
        path = f"{FOLDER}/{crd.build_file_name(document)}"
        text = f"# {NOTICE}\n---\n{yaml.dump(document)}"
        if (size := len(text.encode())) >= crd.MAX_BYTES:
            raise TooLarge(f"{path}: {size} bytes, must be below {crd.MAX_BYTES}")
        yield File(path, text)
