"""`quarterdeck access`: who may see what, and why."""

COMMANDS = {"explain": "Show why a user may or may not see something"}
