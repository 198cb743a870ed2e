"""Results on disk: one JSON file a suite, and the plots beside them.

Standard runs are in the folder itself; quick and full ones in folders of their own, so that no
scale replaces what another measured. Quick ones are not kept.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def folder_for(scale: str) -> Path:
    """Where a run belongs."""
    return FOLDER if scale == "standard" else FOLDER / scale


def save(result: dict[str, Any], folder: Path) -> Path:
    """Write a result."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['suite']}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return path


def load_all(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Every result that is reported, by name of the suite, standard runs before full ones."""
    paths = [*folder.glob("*.json"), *(folder / "full").glob("*.json")]
    paths.sort(key=lambda path: (path.stem, path.parent != folder))
    return [json.loads(path.read_text()) for path in paths]
