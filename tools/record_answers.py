"""Records the answers of a real kube-apiserver to the requests of a file of pairs.

usage: record_answers.py URL FILE [--token TOKEN] [--discovery FILE]

FILE has one JSON object per line: a title, a request, and the answer once it was recorded. Requests
are sent in their order, and FILE is written anew with the answers; new lines may lack an answer.
"pause" in a line says how many seconds a real server needs before it, for what it does later.
The server should be fresh, let everyone do everything, run no controllers and have the admission
plugin ServiceAccount switched off. --discovery writes what the server serves. Certificates are not
verified: the server is one that was started for this on the same machine.
"""

import argparse
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from replay import encode_body, learn, parse_body, translated

HEADERS = ("Content-Type", "Cache-Control", "Warning")


class Server(NamedTuple):
    """The server that is asked."""

    url: str
    token: str

    def send(self, request: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
        """The answer to one request, as a pair holds it."""
        headers = {"User-Agent": "replay/1", "Accept": request["accept"]}
        if request["contentType"]:
            headers["Content-Type"] = request["contentType"]
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        sent = urllib.request.Request(
            self.url + translated(request["path"], known),
            data=encode_body(request["body"], known),
            headers=headers,
            method=request["method"],
        )
        context = ssl._create_unverified_context()
        try:
            answer = urllib.request.urlopen(sent, context=context)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            found = {
                name: ", ".join(answer.headers.get_all(name))
                for name in HEADERS
                if answer.headers[name]
            }
            return {"status": answer.status, "headers": found, "body": parse_body(answer.read())}


def record(server: Server, path: Path) -> int:
    """Send the requests of a file and write it anew; returns how many."""
    known: dict[str, str] = {}
    pairs = [json.loads(line) for line in path.read_text().splitlines()]
    made = []
    for pair in pairs:
        time.sleep(pair.get("pause", 0))  # noqa: TID251 - another program, without events
        answer = server.send(pair["request"], known)
        learn(pair.get("body"), answer["body"], known)
        kept = {name: pair[name] for name in ("title", "pause", "request") if name in pair}
        made.append(kept | answer)
    path.write_text("".join(json.dumps(each) + "\n" for each in made))
    return len(made)


def record_discovery(server: Server, path: Path) -> None:
    """Write the lists of groups and resources that a server answers with."""
    plain = {"method": "GET", "body": None, "contentType": None, "accept": "application/json"}

    def get(place: str) -> Any:
        return server.send({**plain, "path": place}, {})["body"]

    found = {place: get(place) for place in ("/api", "/api/v1", "/apis")}
    for group in found["/apis"]["groups"]:
        for version in group["versions"]:
            place = f"/apis/{version['groupVersion']}"
            found[place] = get(place)
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")


def main() -> None:
    """Read the arguments and record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--token", default="")
    parser.add_argument("--discovery", type=Path)
    arguments = parser.parse_args()
    server = Server(arguments.url, arguments.token)
    if arguments.discovery is not None:
        record_discovery(server, arguments.discovery)
    sys.stdout.write(f"recorded {record(server, arguments.file)} answers\n")


if __name__ == "__main__":
    main()
