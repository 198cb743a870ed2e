"""The index after many writes is the index of what is there."""

from collections.abc import Callable
from typing import Any

from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import json as kit_json
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import Entry, StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Selector

Object = dict[str, Any]
RESOURCES = ("pods", "services", "nodes", "configmaps")
LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
WRITES = st.lists(
    st.tuples(
        st.sampled_from(RESOURCES),
        st.sampled_from(("p", "q")),
        st.one_of(st.none(), st.tuples(LABELS, st.sets(st.sampled_from(("u1", "u2"))))),
    ),
    max_size=30,
)


def entry(resource: str, name: str, revision: int, content: tuple[Object, set[str]]) -> Entry:
    labels, owners = content
    metadata = {
        "name": name,
        "uid": f"{resource}/{name}",
        "labels": labels,
        "ownerReferences": [{"uid": uid} for uid in sorted(owners)],
    }
    value = kit_json.encode({"metadata": metadata, "spec": {"selector": labels}})
    home = "" if resource == "nodes" else "n"
    key = StoreKey(resource, home, name)
    return Entry(key, revision, revision, value, decode_object_meta(resource, value))


@given(writes=WRITES)
@settings(max_examples=count_examples(150), deadline=None)
def test_index_follows_every_write(
    writes: list[tuple[str, str, tuple[Object, set[str]] | None]],
) -> None:
    followed, present = Index(), dict[StoreKey, Entry]()
    for revision, (resource, name, content) in enumerate(writes, start=1):
        key = StoreKey(resource, "" if resource == "nodes" else "n", name)
        before = present.get(key)
        after = None if content is None else entry(resource, name, revision, content)
        if before is None and after is None:
            continue
        followed.apply(StoreEvent(revision, key, before=before, after=after))
        if after is None:
            del present[key]
        else:
            present[key] = after
    fresh = Index()
    for each in present.values():
        fresh.load(each)
    for uid in ("u1", "u2"):
        assert set(followed.list_owned(uid)) == set(fresh.list_owned(uid))
        assert followed.has_owned(uid) == fresh.has_owned(uid)
    assert followed.list_resource("nodes", "") == fresh.list_resource("nodes", "")
    for labels in ({"a": "x"}, {"a": "y", "b": "x"}, {"b": "y"}):
        selector = Selector.of(labels)
        found = set(fresh.find_candidates("pods", "n", selector) or ())
        assert set(followed.find_candidates("pods", "n", selector) or ()) == found
        selecting = set(fresh.find_selecting("services", "n", labels))
        assert set(followed.find_selecting("services", "n", labels)) == selecting


def test_selection_without_plain_pairs_looks_at_all(look: Callable[..., View]) -> None:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "n", "labels": labels},
        }
        for name, labels in (("a", {"tier": "db"}), ("b", {"tier": "web"}), ("c", {}))
    ]
    selector = Selector.parse("tier in (db, web)")
    found = look(pods).select("pods", "n", selector)
    assert [each["metadata"]["name"] for each in found] == ["a", "b"]
