from quarterdeck.wire.conjunction import Term, compile_all
from quarterdeck.wire.label_selector import Selector


def test_no_term_at_all_is_always_true() -> None:
    assert compile_all([])({}) is True


def test_terms_are_asked_in_order_until_one_fails() -> None:
    asked: list[str] = []

    def ask(name: str) -> str:
        asked.append(name)
        return name

    terms = [
        Term("it({key}) == {value}", "a", "a"),
        Term("it({key}) != {value}", "b", "b"),
        Term("it({key}) == {value}", "c", "c"),
    ]
    assert compile_all(terms)(ask) is False
    assert asked == ["a", "b"]


def test_selectors_of_one_form_share_their_code_but_not_their_values() -> None:
    one, other = Selector.parse("a in (x,y),!b"), Selector.parse("c in (p,q),!d")
    assert one.matches.__code__ is other.matches.__code__
    assert one.matches({"a": "x"}) and not one.matches({"c": "p"})
    assert other.matches({"c": "p"}) and not other.matches({"c": "p", "d": ""})


def test_what_a_user_writes_is_never_code() -> None:
    selector = Selector.of({"it.get": "__import__('os')", "k0": "v0) or (True"})
    assert not selector.matches({})
    assert selector.matches({"it.get": "__import__('os')", "k0": "v0) or (True"})
