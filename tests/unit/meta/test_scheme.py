import subprocess
import sys

import pytest

from quarterdeck import apis
from quarterdeck.apis.applications.v1 import Application
from quarterdeck.apis.core import Pod
from quarterdeck.meta.identity import GVK, GVR, GroupKind, GroupVersion
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.meta.scheme import Scheme, UnknownKind


def test_kinds_are_found_by_kind_and_by_resource() -> None:
    scheme = apis.scheme()
    assert scheme.get_kind(GVK("", "v1", "Pod")) is Pod
    assert (
        scheme.get_kind_by_resource(GVR("cloudnative.elide.dev", "v1", "applications"))
        is Application
    )
    assert scheme.get_info(GVK("", "v1", "Pod")).plural == "pods"
    assert scheme.list_versions(GroupKind("", "Pod")) == (Pod,)


def test_objects_are_decoded_by_kind() -> None:
    found = apis.scheme().decode(b'{"metadata":{"name":"a"}}', GVK("", "v1", "Pod"))
    assert isinstance(found, Pod)


def test_what_is_not_registered_is_named() -> None:
    scheme = apis.scheme()
    with pytest.raises(UnknownKind, match="v9, Kind=Pod"):
        scheme.get_kind(GVK("", "v9", "Pod"))
    with pytest.raises(UnknownKind, match=r"gizmos\.example\.com"):
        scheme.get_kind_by_resource(GVR("example.com", "v1", "gizmos"))
    assert scheme.find_kind(GVK("apps", "v1", "Gizmo")) is None


def test_two_types_cannot_stand_for_one_kind() -> None:
    class Impostor(Object, frozen=True, kw_only=True):
        KIND = KindInfo(group="", version="v1", kind="Pod", plural="pods")

    scheme = Scheme([Pod])
    scheme.add(Pod)
    with pytest.raises(ValueError, match=r"quarterdeck\.apis\.core\.pods\.Pod"):
        scheme.add(Impostor)


def test_every_kind_names_itself_consistently() -> None:
    for kind in apis.scheme().list_kinds():
        info = kind.KIND
        assert info.kind == kind.__name__
        assert info.plural == info.plural.lower()
        assert info.singular in ("", info.kind.lower())


def test_a_group_is_imported_only_when_looked_into() -> None:
    code = (
        "import sys; from quarterdeck import apis; s = apis.scheme();"
        "from quarterdeck.meta.identity import GVK;"
        "s.get_kind(GVK('coordination.k8s.io', 'v1', 'Lease'));"
        "print(sorted(m for m in sys.modules if m.startswith('quarterdeck.apis')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "['quarterdeck.apis', 'quarterdeck.apis.coordination']"


def test_our_groups_are_a_part_of_all() -> None:
    assert set(apis.own_scheme().list_kinds()) < set(apis.scheme().list_kinds())
    assert GroupVersion("cloudnative.elide.dev", "v1") in apis.OURS
