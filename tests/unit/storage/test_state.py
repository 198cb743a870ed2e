"""The copy-on-write tree against sorted dictionaries."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.storage import state as tree
from quarterdeck.storage.state import Snapshot, State
from quarterdeck.storage.types import Entry, StoreEvent, StoreKey


@pytest.fixture(scope="module", params=[(4, 2), (128, 16)], ids=["tiny chunks", "usual chunks"])
def chunks(request: pytest.FixtureRequest) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "CHUNK", request.param[0])
        patch.setattr(tree, "SPARSE", request.param[1])
        yield request.param[0]


def entry(key: StoreKey, revision: int) -> Entry:
    return Entry(key, revision, created_revision=revision, value=b"")


def check(snapshot: Snapshot, expected: dict[StoreKey, Entry]) -> None:
    for resource in {key.resource for key in expected} | {"pods"}:
        keys = sorted(key for key in expected if key.resource == resource)
        assert [found.key for found in snapshot.range(resource)] == keys
        assert snapshot.count(resource) == len(keys)
        for namespace in {key.namespace for key in keys}:
            within = [key for key in keys if key.namespace == namespace]
            assert [found.key for found in snapshot.range(resource, namespace)] == within
            assert snapshot.count(resource, namespace) == len(within)
    for key, value in expected.items():
        assert snapshot.get(key) is value


KEYS = st.builds(StoreKey, st.just("pods"), st.sampled_from("abc"), st.sampled_from("0123456789"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("snapshot"), st.none()),
    ),
    max_size=80,
)


@given(steps=STEPS)
def test_any_program_agrees_with_a_dictionary(
    chunks: int, steps: list[tuple[str, StoreKey | None]]
) -> None:
    state, model = State(), dict[StoreKey, Entry]()
    taken: list[tuple[Snapshot, dict[StoreKey, Entry]]] = []
    for revision, (step, key) in enumerate(steps):
        if key is None:
            taken.append((state.snapshot(revision), model.copy()))
        elif step == "put":
            model[key] = entry(key, revision)
            state.put(model[key])
        else:
            model.pop(key, None)
            state.remove(key)
    check(state.snapshot(len(steps)), model)
    for snapshot, expected in taken:
        check(snapshot, expected)


def test_thousands_of_keys_in_random_order(chunks: int) -> None:
    generator = random.Random(7)
    state, model = State(), dict[StoreKey, Entry]()
    taken = []
    for revision in range(6000):
        resource = generator.choice(["pods", "jobs"])
        key = StoreKey(resource, f"n{generator.randrange(4)}", f"p{generator.randrange(700)}")
        if generator.random() < (0.2 if revision < 3000 else 0.8):
            model.pop(key, None)
            state.remove(key)
        else:
            model[key] = entry(key, revision)
            state.put(model[key])
        if revision % 1000 == 0:
            taken.append((state.snapshot(revision), model.copy()))
    check(state.snapshot(6000), model)
    for snapshot, expected in taken:
        check(snapshot, expected)


def test_loading_gives_the_same_as_writing(chunks: int) -> None:
    keys = [StoreKey("pods", f"n{number % 7}", f"p{number}") for number in range(1000)]
    model = {key: entry(key, number) for number, key in enumerate(keys)}
    check(State.load(model.values()).snapshot(1), model)


def test_rewinding_undoes_events_and_leaves_the_present_alone(chunks: int) -> None:
    generator = random.Random(3)
    state, model = State(), dict[StoreKey, Entry]()
    events: list[StoreEvent] = []
    states = [model.copy()]
    for revision in range(1, 600):
        key = StoreKey("pods", "n", f"p{generator.randrange(60)}")
        before = model.get(key)
        after = None if before is not None and generator.random() < 0.4 else entry(key, revision)
        events.append(StoreEvent(revision, key, before=before, after=after))
        if after is None:
            del model[key]
            state.remove(key)
        else:
            model[key] = after
            state.put(after)
        states.append(model.copy())
    for revision in (0, 1, 100, 598, 599):
        check(state.rewind(events[revision:], revision), states[revision])
    check(state.snapshot(599), model)


def test_an_update_costs_one_chunk_not_the_tree() -> None:
    keys = [StoreKey("pods", "n", f"p{number:05}") for number in range(5000)]
    state = State.load(entry(key, 1) for key in keys)
    before = state.snapshot(1)
    state.put(entry(keys[2500], 2))
    after = state.snapshot(2)
    pairs = zip(before._resources["pods"].chunks, after._resources["pods"].chunks, strict=True)
    assert sum(old is not new for old, new in pairs) == 1
