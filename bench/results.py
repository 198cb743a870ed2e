"""Results on disk: one JSON file a suite, and the plots beside them."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def folder_for(scale: str) -> Path:
    """Where a run belongs: quick runs never replace the results that are reported."""
    return FOLDER / "quick" if scale == "quick" else FOLDER


def save(result: dict[str, Any], folder: Path) -> Path:
    """Write a result."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['suite']}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return path


def load_all(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Every result, by name of the suite."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
