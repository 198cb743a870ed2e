"""Handles lost acknowledged writes: refuses to start, or continues without them on request.

Continuing keeps the newest undamaged version of each object and starts a new history above every
revision that was ever acknowledged. So a client that resumes from before must list again, and no
revision has two different states.
"""

from contextlib import closing
from pathlib import Path

from quarterdeck.storage.errors import WritesLost
from quarterdeck.storage.sqlite.file import Durability, connect
from quarterdeck.storage.sqlite.loader import Loaded, describe_findings

CHOICES = (
    "look at it with 'quarterdeck server verify', restore a snapshot with 'quarterdeck server"
    " restore', or start once with 'quarterdeck server --accept-data-loss' to go on without the"
    " lost writes"
)


def check_complete(path: Path, loaded: Loaded, mark: int | None, *, durability: Durability) -> bool:
    """Whether no acknowledged write is lost; durability `normal` may lose the newest in a crash.

    Raises:
        WritesLost: naming the lost writes, and what to do.
    """
    problems = find_problems(loaded, mark)
    if not problems:
        return True
    if durability == "normal" and not loaded.findings:
        return False
    raise WritesLost(f"{path} has lost acknowledged writes: {problems}; {CHOICES}")


def find_problems(loaded: Loaded, mark: int | None) -> str:
    """What is gone or damaged, in one line; empty if nothing is."""
    problems = list(loaded.findings)
    if mark is not None and mark > loaded.revision:
        problems.insert(0, f"the newest revision is {loaded.revision}, but {mark} was acknowledged")
    return describe_findings(problems)


def drop_lost_writes(path: Path, loaded: Loaded, mark: int | None) -> Loaded:
    """Keep what is readable, and continue above every acknowledged revision."""
    revision = max(loaded.revision, mark or 0) + 1
    state = loaded.state.snapshot(revision)
    kept = [(each.revision,) for name in state.resources() for each in state.range(name)]
    with closing(connect(path, "full", max_bytes=None)) as connection:
        connection.execute("CREATE TEMP TABLE kept(revision INTEGER PRIMARY KEY)")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO kept VALUES (?)", kept)
        connection.execute("DELETE FROM log WHERE revision NOT IN (SELECT revision FROM kept)")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'compacted'", (revision,))
        connection.execute("COMMIT")
    return loaded._replace(
        events=[], floor=revision, revision=revision, compacted=revision, findings=[]
    )
