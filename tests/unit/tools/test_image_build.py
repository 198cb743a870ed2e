"""What `make image` writes: the same bytes for the same content, and a list of all of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_build import debian, layout, sbom, wheels

ROOT = Path(__file__).parents[3]
NAMES = st.text(alphabet="abcdefgh", min_size=1, max_size=8)


def write_tree(root: Path) -> None:
    (root / "usr/bin").mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/bin/tool").write_text("content")
    (root / "usr/bin/tool").chmod(0o4755)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    (root / "home").mkdir()


def test_same_content_gives_the_same_layer(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_tree(tmp_path / name)
    one, two = (
        layout.Layout(tmp_path / f"{name}-image", epoch=7).add_layer(tmp_path / name)
        for name in ("one", "two")
    )
    assert one == two


def test_layer_is_owned_by_root_without_set_user_id(tmp_path: Path) -> None:
    write_tree(tmp_path / "root")
    written = layout.Layout(tmp_path / "image", epoch=7)
    layer = written.add_layer(tmp_path / "root", {"home": 65532})
    written.add_image("operator", [layer], {"User": "65532"}, {"title": "x"})
    written.finish()
    config = layout.extract(tmp_path / "image", "operator", tmp_path / "out")
    assert config["config"]["User"] == "65532"
    assert config["created"] == "1970-01-01T00:00:07Z"
    assert (tmp_path / "out/usr/bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out/tmp").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "out/bin").readlink() == Path("usr/bin")


def test_changed_blob_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "root")
    written = layout.Layout(tmp_path / "image", epoch=7)
    layer = written.add_layer(tmp_path / "root")
    written.add_image("hub", [layer], {}, {})
    written.finish()
    digest = layer.descriptor["digest"].partition(":")[2]
    (tmp_path / "image/blobs/sha256" / digest).write_bytes(b"other")
    with pytest.raises(ValueError, match="does not match its digest"):
        layout.extract(tmp_path / "image", "hub", tmp_path / "out")


def test_image_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    written = layout.Layout(tmp_path / "image", epoch=7)
    written.add_image("hub", [], {}, {})
    written.finish()
    with pytest.raises(LookupError, match="no image 'hob'; it has hub"):
        layout.extract(tmp_path / "image", "hob", tmp_path / "out")


@given(st.permutations([sbom.name_python(name, "1") for name in "abcd"]), NAMES)
def test_sbom_does_not_depend_on_the_order(parts: list[sbom.Component], name: str) -> None:
    product = sbom.name_python(name, "2")
    made = [sbom.build_sbom(product, p, created="now") for p in (parts, sorted(parts))]
    assert json.dumps(made[0]) == json.dumps(made[1])
    assert len(made[0]["components"]) == 4


def test_package_urls_escape_versions() -> None:
    found = sbom.name_debian("zlib1g", "1:1.2.13+dfsg", architecture="amd64")
    assert found.purl == "pkg:deb/debian/zlib1g@1%3A1.2.13%2Bdfsg?arch=amd64"
    assert sbom.name_python("Typing_Extensions", "4").purl == "pkg:pypi/typing-extensions@4"


def test_pins_of_the_image_have_hashes_and_no_build_tools() -> None:
    pins = wheels.select_pins((ROOT / "constraints-run.txt").read_text())
    assert {"msgspec", "cryptography", "redis"} <= set(pins)
    assert not set(pins) & set(wheels.BUILD_ONLY)
    assert all("--hash=sha256:" in each and wheels.parse_version(each) for each in pins.values())


def test_dockerfile_removes_the_same_build_tools() -> None:
    text = (ROOT / "Dockerfile").read_text()
    (line,) = [each for each in text.splitlines() if "pip uninstall" in each]
    removed = set(line.partition("-y ")[2].split())
    assert removed == {*wheels.BUILD_ONLY, "pip"}


def test_packages_of_installation_scripts_are_not_followed() -> None:
    text = (
        "x\n  PreDepends: libc6\n  Depends: <debconf-2.0>\n |Depends: debconf\n"
        "  Depends: perl-base\n  Depends: libssl3t64\n  Suggests: gdb\n"
    )
    assert debian.parse_depends(text) == {"libc6", "libssl3t64"}
