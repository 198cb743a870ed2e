"""Rewrites values on the disk whose encryption is not the one in force, in one transaction.

Revisions stay: the rows change, the objects do not. What stood there before is overwritten.
"""

import sqlite3

from quarterdeck.storage.encryption import Cipher
from quarterdeck.storage.types import StoreKey

_ROWS = "SELECT revision, resource, namespace, name, value FROM log WHERE resource = ?"


def seal_values(connection: sqlite3.Connection, cipher: Cipher) -> int:
    """Seal what is not sealed as it should be; returns how many rows changed."""
    changed = []
    for resource in cipher.resources:
        for revision, name, namespace, own, value in connection.execute(_ROWS, (resource,)):
            key = StoreKey(name, namespace, own)
            if not cipher.is_current(key, value):
                changed.append((cipher.encrypt(key, cipher.decrypt(key, value)), revision))
    if not changed:
        return 0
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany("UPDATE log SET value = ? WHERE revision = ?", changed)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return len(changed)
