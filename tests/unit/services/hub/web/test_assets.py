"""Files of the page: names, caching, compression, and the notice until there is a build."""

import gzip
import os
from pathlib import Path

import pytest

from quarterdeck.kit.http import Request, Response
from quarterdeck.services.hub.web.assets import Assets


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<html>page</html>")
    (folder / "assets" / "index-1.js").write_text("let a = 1;" * 100)
    (tmp_path / "token").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "token")
    return folder


def ask(folder: Path, path: str, *headers: tuple[str, str]) -> Response:
    return Assets(folder).answer(Request.of("GET", path, headers=headers))


def get(response: Response, name: str) -> str:
    return dict(response.headers).get(name, "")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/clusters/prod-east",
        "/objects/core/v1/pods/a/web-0.1",
        pytest.param("/objects/a.b\0", id="a NUL"),
        pytest.param("/objects/a." + "b" * 5_000, id="longer than any file name"),
    ],
)
def test_every_route_of_the_page_is_the_page(built: Path, path: str) -> None:
    answer = ask(built, path)
    assert answer.body == b"<html>page</html>"
    assert get(answer, "Content-Type") == "text/html; charset=utf-8"
    assert get(answer, "Cache-Control") == "no-cache"


def test_hashed_files_are_kept_for_good_and_compressed(built: Path) -> None:
    answer = ask(built, "/assets/index-1.js", ("accept-encoding", "gzip, br"))
    assert get(answer, "Content-Type") == "text/javascript; charset=utf-8"
    assert get(answer, "Cache-Control").endswith("immutable")
    assert get(answer, "Content-Encoding") == "gzip"
    assert gzip.decompress(answer.body).startswith(b"let a")
    assert ask(built, "/assets/index-2.js").status == 404


@pytest.mark.parametrize(
    "path", ["/link.txt", "/../token", "/assets/../../token", "/assets/%2e%2e/%2e%2e/token"]
)
def test_no_path_leaves_the_folder(built: Path, path: str) -> None:
    assert b"secret" not in ask(built, path).body


def test_scripts_of_others_and_inline_ones_are_forbidden(built: Path) -> None:
    policy = get(ask(built, "/"), "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert get(ask(built, "/"), "X-Frame-Options") == "DENY"


def test_the_page_says_that_it_is_being_built_and_reloads(tmp_path: Path) -> None:
    answer = ask(tmp_path / "absent", "/clusters")
    assert b'http-equiv="refresh"' in answer.body
    assert b"<script" not in answer.body
    assert get(ask(tmp_path / "absent", "/building.css"), "Content-Type") == "text/css"


def test_a_new_build_replaces_the_old_one(built: Path) -> None:
    import os

    assets = Assets(built)
    page = Request.of("GET", "/")
    assert assets.answer(page).body == b"<html>page</html>"
    (built / "index.html").write_text("<html>next</html>")
    os.utime(built / "index.html", (1, 1))
    assert assets.answer(page).body == b"<html>next</html>"


def test_a_file_is_read_once_per_build(built: Path) -> None:
    assets, name = Assets(built), built / "assets" / "index-1.js"
    first = assets.answer(Request.of("GET", "/assets/index-1.js"))
    name.write_text("other")
    assert assets.answer(Request.of("GET", "/assets/index-1.js")).body == first.body
    index = built / "index.html"
    os.utime(index, (1.0, 1.0))  # another build
    assert assets.answer(Request.of("GET", "/assets/index-1.js")).body == b"other"
