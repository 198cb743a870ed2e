"""The how-to page on declaring a kind, run as it stands."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from quarterdeck.kit import yaml

PAGE = Path(__file__).parents[3] / "docs/how-to/declare-a-kind.md"


def test_the_page_works_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    source = tmp_path / "coffee.py"
    source.write_text("\n".join(blocks))
    module = ModuleType("coffee")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "coffee", module)
    exec(compile(source.read_text(), str(source), "exec"), module.__dict__)
    manifest = yaml.load(capsys.readouterr().out)
    schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["cups"] == {
        "type": "integer",
        "format": "int32",
        "description": "How many cups to make.",
        "minimum": 1,
        "maximum": 10,
    }
    assert schema["properties"]["spec"]["required"] == ["cups"]
