import re

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.services.fleet.records import ALLOY, OTEL, Collector, Pipeline
from quarterdeck.telemetry.matchers import match_all
from quarterdeck.telemetry.matching import MatchIndex

PATTERNS = [
    "a", "ab", "a|b", "a|ab|abc", "ab*", "ab?c", "ab+", "a{2}b", "(a|b)c", "(?:a)|b", "(?i)A",
    "^ab", "^a|b$", "a[bc]", "[ab]c|a", "a|[|]", ".*", ".+", "", "a|", "(a)?", "a.c", "abc-1",
    "a(b|c)|c", "ab{0}c", "((a)|b)c", "^^a", "a{b", "|", "(?i)a|b", "(?:a|b)c|1",
]  # fmt: skip
names = st.sampled_from(["env", "team", "os"])
values = st.sampled_from(["a", "b", "c"])
matchers = st.builds(
    lambda name, operator, value: f'{name}{operator}"{value}"',
    names,
    st.sampled_from(["=", "!=", "=~", "!~"]),
    st.sampled_from(["", "a", "b", "a|b", ".*"]),
)
pipelines = st.lists(
    st.builds(
        Pipeline,
        id=st.integers(1, 6).map(str),
        name=st.text("xyz", min_size=1, max_size=3),
        contents=st.just(""),
        matchers=st.lists(matchers, max_size=3).map(tuple),
        enabled=st.booleans(),
        config_type=st.sampled_from([ALLOY, OTEL]),
    ),
    max_size=8,
)


@given(pipelines, st.sets(st.integers(1, 6).map(str)), st.dictionaries(names, values))
def test_the_index_finds_what_asking_everybody_finds(
    added: list[Pipeline], removed: set[str], attributes: dict[str, str]
) -> None:
    index = MatchIndex(added)
    current = {each.id: each for each in added}
    for identity in removed:
        index.remove(identity)
        current.pop(identity, None)
    expected = {
        each.id
        for each in current.values()
        if each.enabled
        and each.config_type == ALLOY
        and match_all(each.parse_matchers(), attributes)
    }
    found = index.match(attributes, ALLOY)
    assert {each.id for each in found} == expected
    assert [each.name for each in found] == sorted(each.name for each in found)


def test_reserved_attributes_cannot_be_overridden() -> None:
    collector = Collector(
        id="e",
        local_attributes={"collector.os": "linux", "env": "prod"},
        remote_attributes={"collector.os": "x", "env": "canary"},
    )
    effective = collector.get_effective_attributes()
    assert effective["collector.os"] == "linux"
    assert effective["env"] == "canary"
    assert effective["collector.ID"] == "e"


@given(
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4, unique=True),
    st.text("abcAB1-", max_size=5),
)
def test_patterns_are_found_by_how_their_matches_begin(texts: list[str], value: str) -> None:
    index = MatchIndex(
        Pipeline(id=str(number), name=text, contents="", matchers=(f'host=~"{text}"',))
        for number, text in enumerate(texts)
    )
    found = {each.name for each in index.match({"host": value}, ALLOY)}
    assert found == {text for text in texts if re.fullmatch(text, value)}


def test_an_emptied_index_keeps_nothing() -> None:
    pipelines = [
        Pipeline(id=str(number), name=text, contents="", matchers=(f'host=~"{text}"',))
        for number, text in enumerate(PATTERNS)
    ]
    index = MatchIndex(pipelines)
    for each in pipelines:
        index.remove(each.id)
    assert index.match({"host": "ab"}, ALLOY) == []
    assert vars(index) == vars(MatchIndex())
