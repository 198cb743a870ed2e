"""Resource versions in queries: parsing, and waiting for a future one."""

from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import wait_for_revision
from quarterdeck.wire.status import ApiError, Cause, Details, Timeout

_MAX_VERSION = 2**64 - 1


_MAX_DIGITS = 20


def parse_version(text: str) -> int:
    """Parse a resource version as a number; 0 for none.

    Raises:
        ApiError: 500, as Kubernetes answers.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise _build_version_error(text, "invalid syntax")
    version = int(text.lstrip("0")[: _MAX_DIGITS + 1] or "0")
    if version > _MAX_VERSION:
        raise _build_version_error(text, "value out of range")
    return version


def _build_version_error(text: str, problem: str) -> ApiError:
    message = (
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}'
    )
    return ApiError(message, code=500)


async def wait_for_version(core: Core, text: str, *, retry_after_s: int = 1) -> int:
    """Wait a little for a version that has not happened yet.

    Raises:
        Timeout: if it still has not.
    """
    version = parse_version(text)
    wait_s = core.options.future_revision_wait_s
    if not await wait_for_revision(core, version, timeout_s=wait_s):
        raise Timeout(
            f"Timeout: Too large resource version: {version}, current: {core.store.revision}",
            details=Details(
                causes=(
                    Cause(reason="ResourceVersionTooLarge", message="Too large resource version"),
                ),
                retry_after_seconds=retry_after_s,
            ),
        )
    return version
