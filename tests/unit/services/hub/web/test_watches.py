"""What a page may ask to watch."""

import pytest

from quarterdeck.services.hub.web.watches import MAX_WATCHES, parse_watches
from quarterdeck.wire.status import BadRequest


def test_a_watch_keeps_its_selectors_and_gets_bookmarks() -> None:
    (found,) = parse_watches(
        "w=1~table~/api/v1/pods%3FlabelSelector%3Da%253Db%26resourceVersion%3D7"
    )
    assert found.identifier == "1"
    assert found.path.resource == "pods"
    assert found.target == (
        "/api/v1/pods?labelSelector=a%3Db&resourceVersion=7&watch=true&allowWatchBookmarks=true"
    )
    assert "as=Table" in found.accept


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("w=1~table~/metrics", id="no resource"),
        pytest.param("w=1~xml~/api/v1/pods", id="an unknown form"),
        pytest.param("w=%22~table~/api/v1/pods", id="an identifier that breaks out of JSON"),
        pytest.param("w=~table~/api/v1/pods", id="no identifier"),
        pytest.param("&".join(["w=1~table~/api/v1/pods"] * (MAX_WATCHES + 1)), id="too many"),
    ],
)
def test_wrong_watches_are_refused(query: str) -> None:
    with pytest.raises(BadRequest):
        parse_watches(query)
