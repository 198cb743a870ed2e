"""Builds the agent as one file that any Python can run: a zipapp of this package alone."""

import shutil
import tempfile
import zipapp
from pathlib import Path

_MAIN = "quarterdeck.agents.machine.__main__:main"


def write_zipapp(target: Path) -> None:
    """Write the zipapp; it has no other code of the project."""
    package = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "quarterdeck", "agents", "machine")
        place.mkdir(parents=True)
        for parent in (place.parent, place.parent.parent):
            (parent / "__init__.py").touch()
        for source in package.glob("*.py"):
            shutil.copy(source, place)
        code = f"import sys\nfrom {_MAIN.replace(':', ' import ')}\nsys.exit(main())\n"
        Path(folder, "__main__.py").write_text(code)
        zipapp.create_archive(folder, target, interpreter="/usr/bin/env python3", compressed=True)
