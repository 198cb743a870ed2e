"""Settings that a ConfigMap changes without a restart: the log level."""

import random
from collections.abc import Mapping

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.app.errors import SettingError
from quarterdeck.app.resolution import list_fields
from quarterdeck.app.settings import Settings
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.informer.informer import CacheScope, Informer
from quarterdeck.runtime.manager.manager import Manager
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.logging import Logger

LOG_LEVEL = "LOG_LEVEL"


def watch_settings(manager: Manager, settings: Settings, *, log: Logger) -> None:
    """Watch the ConfigMap of --settings-configmap as long as the manager runs.

    Raises:
        SettingError: if its name is invalid.
    """
    if not settings.settings_configmap:
        return
    namespace, slash, name = settings.settings_configmap.partition("/")
    if not (namespace and slash and name):
        raise SettingError(
            f"invalid --settings-configmap {settings.settings_configmap!r}: give NAMESPACE/NAME"
        )
    informer = Informer(
        manager.api,
        ConfigMap,
        scope=CacheScope(namespaces=(namespace,), fields=f"metadata.name={name}"),
        clock=manager.clock,
        rng=random.Random(),
    )

    def on_change(event: Event) -> None:
        is_deleted = event.change is Change.DELETED
        data = {} if is_deleted else event.new.typed(ConfigMap).data
        apply_settings(data, settings, log=log)

    informer.cache.add_handler(on_change)
    manager.add_runnable("settings", informer.run, needs_leader_election=False)


def apply_settings(data: Mapping[str, str], settings: Settings, *, log: Logger) -> None:
    """Set the log level; log a warning for invalid values and for settings that need a restart."""
    level = data.get(LOG_LEVEL, settings.log_level)
    try:
        logging.set_level(level)
    except ValueError as error:
        log.warning("invalid setting ignored", setting=LOG_LEVEL, reason=str(error))
    else:
        log.info("settings applied", log_level=logging.get_level())
    known = {env for field in list_fields() for env in field.option.env} - {LOG_LEVEL}
    for name in sorted(known & set(data)):
        log.warning("setting takes effect after a restart", setting=name)
