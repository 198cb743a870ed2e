import pytest

from quarterdeck.meta import field
from quarterdeck.meta.field import Bare, FieldError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (field.invalid("a", "x", "must be y"), 'a: Invalid value: "x": must be y'),
        (field.invalid("a", 3, "must be 4"), "a: Invalid value: 3: must be 4"),
        (field.invalid("a", None, "no"), 'a: Invalid value: "null": no'),
        (field.invalid("a", Bare("bare"), "no"), "a: Invalid value: bare: no"),
        (field.required("a"), "a: Required value"),
        (field.required("a", "name it"), "a: Required value: name it"),
        (field.forbidden("a", "is fixed"), "a: Forbidden: is fixed"),
        (field.duplicate("a", "x"), 'a: Duplicate value: "x"'),
        (field.not_found("a", "x"), 'a: Not found: "x"'),
        (
            field.not_supported("a", "x", ["y", "z"]),
            'a: Unsupported value: "x": supported values: "y", "z"',
        ),
        (field.too_long("a", "secret", 1), "a: Too long: may not be more than 1 byte"),
        (field.too_long("a", "secret", 9), "a: Too long: may not be more than 9 bytes"),
        (field.internal("a", "oops"), "a: Internal error: oops"),
    ],
)
def test_errors_are_worded_as_kubernetes_words_them(error: FieldError, text: str) -> None:
    assert str(error) == text


def test_limits_and_types_name_the_field() -> None:
    assert str(field.too_many("a", 5, 4)).startswith("a: Too many")
    assert "must have at most 4 items" in str(field.too_many("a", 5, 4))
    assert "must have at most 1 item" in str(field.too_many("a", 5, 1))
    assert str(field.type_invalid("a", "x", "no")).startswith("a: Invalid value")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a", '"a"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\n\t\x00", '"\\n\\t\\x00"'),
        ("é\u200b", '"é\\u200b"'),
        ("😀", '"😀"'),
    ],
)
def test_strings_are_quoted_as_go_does(text: str, quoted: str) -> None:
    assert field.quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "interface {}(nil)"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (1e6, "1e+06"),
        (-1.25e-7, "-1.25e-07"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        ({"b": [1, None], "a": "x"}, 'map[string]interface {}{"a":"x", "b":[]interface {}{1, '),
    ],
)
def test_values_are_shown_in_gos_syntax(value: object, text: str) -> None:
    assert field.format_go_syntax(value).startswith(text)
