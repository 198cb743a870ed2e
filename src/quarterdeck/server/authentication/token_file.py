"""Static tokens from a file: Kubernetes' `--token-auth-file`. Pure but for `read_token_file`."""

import csv
from pathlib import Path

from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User

_MIN_COLUMNS = 3


class TokenFileError(ValueError):
    """Raised when a token file cannot be used; tokens are not in the message."""


def read_token_file(path: Path) -> dict[str, User]:
    """The users of a token file, by token.

    Raises:
        TokenFileError: if it cannot be read, or a line has too few columns.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise TokenFileError(f"cannot read the token file {path}: {reason}") from error
    try:
        return parse_tokens(text)
    except TokenFileError as error:
        raise TokenFileError(f"invalid token file {path}: {error}") from error


def parse_tokens(text: str) -> dict[str, User]:
    """Parse lines of `token,user,uid` with an optional fourth column of groups.

    Lines without a token are left out, and of equal tokens the last one counts, as in Kubernetes.

    Raises:
        TokenFileError: naming the line with too few columns.
    """
    users: dict[str, User] = {}
    for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), start=1):
        if not row:
            continue
        if len(row) < _MIN_COLUMNS:
            raise TokenFileError(
                f"line {number} has {len(row)} columns; expected token, user name, user uid "
                "and optional groups"
            )
        if token := row[0].strip():
            users[token] = _build_user(row)
    return users


def _build_user(row: list[str]) -> User:
    groups = row[3].split(",") if len(row) > _MIN_COLUMNS else []
    named = tuple(each.strip() for each in groups if each.strip())
    return User(
        name=row[1].strip(),
        uid=row[2].strip(),
        groups=(*(each for each in named if each != AUTHENTICATED_GROUP), AUTHENTICATED_GROUP),
    )
