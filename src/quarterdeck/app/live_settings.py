"""Settings that a ConfigMap changes while operators run: today the log level."""

import random
from collections.abc import Mapping

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.app.resolution import SettingError, fields
from quarterdeck.app.settings import Settings
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.informer.informer import Informer, Scope
from quarterdeck.runtime.manager.manager import Manager
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.logging import Logger

LOG_LEVEL = "LOG_LEVEL"


def follow_settings(manager: Manager, settings: Settings, *, log: Logger) -> None:
    """Follow the ConfigMap that the settings name, for as long as the manager runs.

    Raises:
        SettingError: if its name is none.
    """
    if not settings.settings_configmap:
        return
    namespace, slash, name = settings.settings_configmap.partition("/")
    if not (namespace and slash and name):
        raise SettingError(
            f"--settings-configmap is {settings.settings_configmap!r}: it must be NAMESPACE/NAME"
        )
    informer = Informer(
        manager.api,
        ConfigMap,
        scope=Scope(namespaces=(namespace,), fields=f"metadata.name={name}"),
        clock=manager.clock,
        rng=random.Random(),
    )

    def hear(event: Event) -> None:
        is_gone = event.change is Change.DELETED
        data = {} if is_gone else event.new.typed(ConfigMap).data
        take(data, settings, log=log)

    informer.cache.add_handler(hear)
    manager.add_runnable("settings", informer.run, needs_leader=False)


def take(data: Mapping[str, str], settings: Settings, *, log: Logger) -> None:
    """Put what can change into force, and say what cannot; a bad value changes nothing."""
    level = data.get(LOG_LEVEL, settings.log_level)
    try:
        logging.set_level(level)
    except ValueError as error:
        log.warning("a setting was not taken over", setting=LOG_LEVEL, reason=str(error))
    else:
        log.info("settings taken over", log_level=logging.get_level())
    known = {env for field in fields() for env in field.option.env} - {LOG_LEVEL}
    for name in sorted(known & set(data)):
        log.warning("a setting needs a restart", setting=name)
