"""The comparison of roles with what operators used in tests."""

from pathlib import Path

import pytest

from quarterdeck.codegen import recorded_uses
from quarterdeck.codegen.recorded_uses import RecordedUse, compare, find_differences
from quarterdeck.runtime.controller.rbac import Rule

ROOT = Path(__file__).parents[3]
WIDGETS = Rule("example.com", "widgets", ("create", "get", "list", "patch", "watch"))
USES = {
    RecordedUse("o", "example.com", "widgets", "watch"),
    RecordedUse("o", "example.com", "widgets", "patch"),
}


def test_roles_are_what_was_recorded() -> None:
    assert [*find_differences(ROOT)] == []


def test_exceptions_are_still_needed() -> None:
    uses = recorded_uses.parse_table((ROOT / recorded_uses.PATH).read_text())
    needed = {(use[:3], recorded_uses._get_right(use.verb)) for use in uses}
    known = {
        (place, right) for place, rights in recorded_uses.UNRECORDED.items() for right in rights
    }
    assert not needed & known


def test_rule_that_was_used_is_fine() -> None:
    assert [*compare("o", [WIDGETS], USES)] == []


@pytest.mark.parametrize(
    ("uses", "right"),
    [
        ({each for each in USES if each.verb == "watch"}, "may write"),
        ({each for each in USES if each.verb == "patch"}, "may read"),
    ],
)
def test_read_and_write_are_named_apart(uses: set[RecordedUse], right: str) -> None:
    (found,) = compare("o", [WIDGETS], uses)
    assert f"o {right} example.com/widgets" in found


@pytest.mark.parametrize("verb", ["delete", "update"])
def test_verb_that_no_test_needs_is_named(verb: str) -> None:
    """To delete or to replace is more than to apply."""
    (found,) = compare("o", [WIDGETS._replace(verbs=(*WIDGETS.verbs, verb))], USES)
    assert f"o may {verb} example.com/widgets" in found
    used = RecordedUse("o", "example.com", "widgets", verb)
    rule = WIDGETS._replace(verbs=(*WIDGETS.verbs, verb))
    assert [*compare("o", [rule], {*USES, used})] == []


@pytest.mark.parametrize(
    "use",
    [
        RecordedUse("o", "example.com", "widgets", "delete"),
        RecordedUse("o", "example.com", "widgets/status", "patch"),
        RecordedUse("o", "", "secrets", "get"),
    ],
)
def test_use_without_a_rule_is_named(use: RecordedUse) -> None:
    (found,) = compare("o", [WIDGETS], {*USES, use})
    assert f"uses {use.verb} of {use.group}/{use.resource} without a rule" in found


def test_table_is_read_as_it_was_written() -> None:
    assert recorded_uses.parse_table(recorded_uses.format_table(USES)) == USES


def test_missing_table_is_named(tmp_path: Path) -> None:
    (found,) = find_differences(tmp_path)
    assert "make record-roles" in found
