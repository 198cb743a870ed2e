"""Pod addresses: unique while in use, and reused as late as possible."""

from quarterdeck.storage import StoreKey

_NETWORK = "10.244"
_SIZE = 256 * 256


class Addresses:
    """Assigns pod addresses of 10.244.0.0/16 in turn."""

    def __init__(self) -> None:
        self._owners: dict[str, StoreKey] = {}
        self._addresses: dict[StoreKey, str] = {}
        self._last = 1

    def record(self, key: StoreKey, address: str) -> None:
        """Record the address of an existing pod."""
        if address:
            self._owners[address] = key
            self._addresses[key] = address

    def take(self, key: StoreKey) -> str:
        """Return the address of a pod, or assign one; if all are in use, one is shared."""
        if (known := self._addresses.get(key)) is not None:
            return known
        for _ in range(_SIZE):
            self._last = self._last % (_SIZE - 2) + 1
            address = f"{_NETWORK}.{self._last // 256}.{self._last % 256}"
            if address not in self._owners:
                break
        self.record(key, address)
        return address

    def release(self, key: StoreKey) -> None:
        """Free the address of a deleted pod."""
        address = self._addresses.pop(key, None)
        if address is not None and self._owners.get(address) == key:
            del self._owners[address]
