"""Run as a process: writes without end and says on standard output what was acknowledged.

Arguments: the database, how many writers, how many writes each (0: until killed), a seed.
"""

import asyncio
import os
import random
import sys

from quarterdeck.storage import StoreKey, open_sqlite


async def main(path: str, writers: int, count: int, seed: int) -> None:
    store = open_sqlite(path, retain=300, history_events=50)
    generator = random.Random(seed)
    os.write(1, f"open {store.revision}\n".encode())

    async def write(number: int) -> None:
        done = 0
        while not count or done < count:
            done += 1
            key = StoreKey("pods", f"n{number}", f"p{generator.randrange(10)}")
            size = generator.choice((10, 1300, 20_000))
            if store.get_pending(key) is not None and generator.random() < 0.3:
                ticket = store.delete(key, lambda r: b"%d gone" % r)
                what = "delete"
            else:
                ticket = store.put(key, lambda r: b"%d " % r + b"x" * size)  # noqa: B023
                what = "put"
            await ticket
            os.write(1, f"{what} {ticket.revision} {key.namespace} {key.name}\n".encode())

    await asyncio.gather(*(write(number) for number in range(writers)))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *(int(argument) for argument in sys.argv[2:5])))
