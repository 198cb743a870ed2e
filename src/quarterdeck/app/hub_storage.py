"""Opens the stores of the hub: Redis or a file, VictoriaMetrics or a file."""

from pathlib import Path

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.hubstate.redis.address import InvalidAddress, RedisAddress
from quarterdeck.kit.clock import Clock

STATE_FILE = "hub.db"
HISTORY_FILE = "history.db"


def find_redis_address(settings: Settings) -> RedisAddress | None:
    """The address of Redis; None if the state is embedded.

    Raises:
        SettingError: if the URL is invalid.
    """
    if settings.redis_url:
        try:
            return RedisAddress.parse(settings.redis_url)
        except InvalidAddress as error:
            raise SettingError(f"invalid redis_url (REDIS_URL): {error}") from error
    if not settings.redis_host:
        return None
    return RedisAddress(
        hosts=((settings.redis_host, settings.redis_port),),
        db=settings.redis_db,
        password=settings.redis_password,
    )


def open_state(settings: Settings, folder: Path | None, *, clock: Clock) -> StateStore:
    """Open the state store of the settings; `folder` is for an embedded one.

    Raises:
        SettingError: if the address of Redis is wrong.
        StartError: if it cannot be opened.
    """
    address = find_redis_address(settings)
    try:
        if address is not None:
            from quarterdeck.hubstate.redis.state import RedisState

            return RedisState(address)
        from quarterdeck.hubstate.embedded.state import open_embedded

        return open_embedded(folder / STATE_FILE if folder else None, clock=clock)
    except HubStateError as error:
        raise StartError(str(error)) from error


def open_history(settings: Settings, folder: Path | None, *, clock: Clock) -> History:
    """Open the history of the settings.

    Raises:
        SettingError: if the address of VictoriaMetrics is wrong.
        StartError: if it cannot be opened.
    """
    if settings.vm_enabled:
        if not settings.vm_endpoint.startswith(("http://", "https://")):
            raise SettingError(
                f"invalid vm_endpoint {settings.vm_endpoint!r} (VM_ENDPOINT): must be "
                "http://HOST:PORT"
            )
        from quarterdeck.hubstate.victoriametrics.history import VictoriaMetrics

        return VictoriaMetrics(settings.vm_endpoint, clock=clock)
    from quarterdeck.hubstate.embedded import history

    try:
        return history.open_history(folder / HISTORY_FILE if folder else None, clock=clock)
    except HubStateError as error:
        raise StartError(str(error)) from error
