"""`fieldPath` of a rule: where it leads, and why it leads nowhere.

The answers are those of kube-apiserver's own function, release 1.32, for the same paths.
"""

import pytest

from quarterdeck.cel.rules.field_path import PathError, normalize
from quarterdeck.meta.schema import from_openapi

_NUMBER = {"type": "integer"}
_SCHEMA = from_openapi(
    {
        "type": "object",
        "properties": {
            "a": _NUMBER,
            "o": {"type": "object", "properties": {"b-c": _NUMBER, "x": _NUMBER}},
            "m": {"type": "object", "additionalProperties": _NUMBER},
            "l": {"type": "array", "items": _NUMBER},
        },
    }
)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".a", "a"),
        ("['a']", "a"),
        (".o.x", "o.x"),
        (".o['b-c']", "o.b-c"),
        (".o.b-c", "o.b-c"),
        (".m.k", "m[k]"),
        (".m['k.x']", "m[k.x]"),
        (r".m['it\'s']", "m[it's]"),
        (".m['']", "m[]"),
        (".l", "l"),
    ],
)
def test_a_path_leads_to_a_field(path: str, shown: str) -> None:
    assert normalize(path, _SCHEMA) == shown


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a", "expected [ or . but got: a"),
        (".o['x']y", "expected [ or . but got: y"),
        (".", "unexpected end of JSON path"),
        (".a.", "unexpected end of JSON path"),
        (".o['x'", "unexpected end of JSON path"),
        (".o[", "unexpected end of JSON path"),
        (".o['x'x]", "expected ] but got x"),
        ('.o["x"]', 'expected single quoted string but got "x"'),
        (".o[x]", "expected single quoted string but got x"),
        (".l[0]", "expected single quoted string but got 0"),
        (".m[]", "expected single quoted string but got ]"),
        (".nope", "does not refer to a valid field"),
        (".a.b", "does not refer to a valid field"),
        ("..a", "does not refer to a valid field"),
        (".m['k']['z']", "does not refer to a valid field"),
    ],
)
def test_a_path_that_leads_nowhere_says_why(path: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        normalize(path, _SCHEMA)
    assert str(caught.value) == message
