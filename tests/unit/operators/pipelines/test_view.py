"""What is known of a server: listings and our own writes, in whatever order they arrive."""

from quarterdeck.operators.pipelines.ports import Remote, RemoteRevision
from quarterdeck.operators.pipelines.view import View


def remote(identity: str, name: str = "x", owner: str = "", contents: str = "") -> Remote:
    return Remote(id=identity, name=name, owner=owner, contents=contents)


def test_a_listing_tells_what_changed() -> None:
    view = View()
    assert not view.is_complete
    assert view.record_list([remote("1", "a"), remote("2", "b")], 1.0) == {"1", "2"}
    assert view.record_list([remote("1", "a"), remote("2", "b")], 2.0) == frozenset()
    assert view.record_list([remote("1", "a", contents="new"), remote("3", "c")], 3.0) == {
        "1",
        "2",
        "3",
    }
    assert view.find_by_name("b") is None
    assert view.get("3") is not None


def test_a_listing_that_is_older_than_a_write_does_not_undo_it() -> None:
    view = View()
    view.record_list([remote("1", "a"), remote("2", "b")], 1.0)
    view.record_write(remote("1", "a", contents="ours"), at=5.0)
    view.record_removal("2", at=5.0)
    view.record_write(remote("3", "c"), at=5.0)
    assert view.record_list([remote("1", "a"), remote("2", "b")], asked_at=4.0) == frozenset()
    found = view.get("1")
    assert found is not None and found.contents == "ours"
    assert view.get("2") is None
    assert view.get("3") is not None
    assert view.record_list([remote("1", "a")], asked_at=6.0) == {"1", "3"}


def test_a_rename_frees_the_old_name() -> None:
    view = View()
    view.record_write(remote("1", "a", owner="uid"), at=1.0)
    view.record_write(remote("1", "b", owner="uid"), at=2.0)
    assert view.find_by_name("a") is None
    assert [view.find_by_name("b")] == view.list_owned_by("uid")
    view.record_removal("1", at=3.0)
    assert view.list_owned_by("uid") == []
    assert view.list_owned_by("") == []


def test_the_answer_to_a_write_outlives_listings() -> None:
    view = View()
    view.record_write(remote("1", "a", contents="formatted"), at=1.0)
    view.record_list([remote("1", "a", contents="edited")], asked_at=2.0)
    answer = view.get_answer("1")
    assert answer is not None and answer.contents == "formatted"


def revision(id_: str, of: str, contents: str = "") -> RemoteRevision:
    return RemoteRevision(id_, "UPDATE", "", remote(of, "a", contents=contents))


def test_the_history_of_a_write_is_known_at_once_without_contents() -> None:
    view = View()
    view.record_write(remote("1", "a"), at=1.0)
    view.record_history(
        "1", [revision("7", "", "text"), revision("8", "", "text"), revision("", "")]
    )
    assert view.get_revision("1") == "8"
    assert view.get_history("1") == [revision("7", "1"), revision("8", "1")]


def test_pipelines_are_reported_whose_history_is_longer_than_known() -> None:
    view = View()
    listed = [revision("7", "1"), revision("8", "2")]
    assert view.record_revisions(listed) == {"1", "2"}
    assert view.record_revisions(listed) == frozenset()
    view.record_write(remote("1", "a"), at=1.0)
    view.record_history("1", [revision("7", "1"), revision("9", "1")])
    view.record_write(remote("2", "a"), at=1.0)
    listed += [revision("9", "1"), revision("10", "2")]
    assert view.record_revisions(listed) == {"2"}, "that of the first was read after its write"
