"""Rewrites values on the disk whose encryption is not the one in force, in one transaction.

The objects and their revisions do not change. The previous bytes are overwritten on the disk.
"""

import sqlite3

from quarterdeck.storage.encryption import Cipher
from quarterdeck.storage.sqlite.checksum import compute_checksum
from quarterdeck.storage.types import StoreKey

_ROWS = "SELECT * FROM log WHERE resource = ?"
_UPDATE = "UPDATE log SET value = ?, checksum = ? WHERE revision = ?"


def reencrypt_values(connection: sqlite3.Connection, cipher: Cipher) -> int:
    """Rewrite values that are not sealed as new ones would be; returns how many changed."""
    changed = []
    for resource in cipher.resources:
        for row in connection.execute(_ROWS, (resource,)):
            revision, _, namespace, name, created, replaced, value, _ = row
            key = StoreKey(resource, namespace, name)
            if not cipher.is_current(key, value):
                sealed = cipher.encrypt(key, cipher.decrypt(key, value))
                where = (resource, namespace, name)
                checksum = compute_checksum(revision, where, created, replaced, sealed)
                changed.append((sealed, checksum, revision))
    if not changed:
        return 0
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(_UPDATE, changed)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return len(changed)
