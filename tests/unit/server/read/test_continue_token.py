"""Continue tokens: what is encoded comes back, and no text breaks the decoder."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.read import continue_token
from quarterdeck.wire.status import ApiError

_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name != ".."
)


@given(st.integers(1, 2**60), _NAMES, _NAMES)
def test_continue_token_comes_back(revision: int, space: str, name: str) -> None:
    for namespace in (None, space):
        position = continue_token.Position(revision, (space, name))
        assert (
            continue_token.decode(continue_token.encode(position, namespace), namespace) == position
        )


@given(st.text())
def test_no_text_breaks_the_reading_of_tokens(text: str) -> None:
    try:
        continue_token.decode(text, None)
    except ApiError as error:
        assert error.code == 400
