"""Rules that the sources cite by number are listed in the docstring of the package."""

import re
from pathlib import Path

from quarterdeck.runtime import informer

FOLDER = Path(informer.__file__).parents[1]
CITED = re.compile(r"\bR\d+\b")


def test_rules_cited_by_number_are_listed_and_kept_somewhere() -> None:
    listed = set(re.findall(r"^- (R\d+): ", informer.__doc__ or "", re.MULTILINE))
    cited: set[str] = set()
    for module in [*FOLDER.glob("informer/*.py"), *FOLDER.glob("cache/*.py")]:
        if module != Path(informer.__file__):
            cited |= set(CITED.findall(module.read_text()))
    assert cited == listed
