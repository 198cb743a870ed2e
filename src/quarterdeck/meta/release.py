"""The release of Kubernetes that this process is; the environment holds it for child processes."""

import functools
import os

RELEASES = {"1.32": "table", "1.36": "table-1.36", "1.37": "table-1.37"}
"""The table of kinds of each release, without its suffix; the first is the default."""
VERSIONS = {"1.32": "v1.32.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
"""The version of Kubernetes that each table was made from."""
VARIABLE = "QUARTERDECK_KUBERNETES_VERSION"


def set_release(release: str) -> None:
    """Be this release from now on, and let child processes be it."""
    os.environ[VARIABLE] = release
    get_release.cache_clear()
    is_since.cache_clear()


@functools.cache
def get_release() -> str:
    """The release whose built-in kinds these are, such as `1.32`; asked for every write."""
    release = os.environ.get(VARIABLE, "")
    return release if release in RELEASES else next(iter(RELEASES))


@functools.cache
def is_since(major: int, minor: int) -> bool:
    """Whether this process is that release or a later one."""
    own = get_release().split(".")
    return (int(own[0]), int(own[1])) >= (major, minor)
