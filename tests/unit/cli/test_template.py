"""Templates of `--output`."""

import pytest

from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.template import render_jsonpath

PODS = {
    "kind": "List",
    "items": [
        {"metadata": {"name": "a"}, "spec": {"ports": [{"n": 1}, {"n": 2}]}},
        {"metadata": {"name": "b"}, "spec": {"ports": []}},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.kind}", "List"),
        (".kind", "List"),
        ("{.items[*].metadata.name}", "a b"),
        ('{range .items[*]}{.metadata.name}{"\\n"}{end}', "a\nb\n"),
        ("{range .items[*]}{.metadata.name}{'\\t'}{end}", "a\tb\t"),
        ("<{range .items[*]}[{.metadata.name}]{end}>{.kind}", "<[a][b]>List"),
        (
            "{range .items[*]}{.metadata.name}:{range .spec.ports[*]}{.n},{end};{end}",
            "a:1,2,;b:;",
        ),
        ('{range .items[?(@.metadata.name=="b")]}{@.metadata.name}{end}', "b"),
        ("{range .items[*].metadata}{.missing}-{end}", "--"),
        ("{range .items[*].metadata.name}{@}{end}", "ab"),
    ],
)
def test_templates_are_rendered(template: str, text: str) -> None:
    assert render_jsonpath(template, PODS) == text


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{range .items[*]}", "{range} has no {end}"),
        ("{end}", "{end} has no {range}"),
        ("{range .items[*]}{end}{end}", "{end} has no {range}"),
        ("{.items[}", "invalid path"),
        ("{.items[*", "has a { without }"),
        ("{.kind}{.items", "has a { without }"),
    ],
)
def test_broken_templates_are_named(template: str, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        render_jsonpath(template, PODS)
    assert words in str(refused.value)
