"""`quarterdeck machines rollout`: roll-outs of fleets."""

COMMANDS = {
    "status": "Wait until a fleet has the newest revision",
    "history": "Show the revisions of a fleet",
    "undo": "Roll back to an earlier revision of a fleet",
}
