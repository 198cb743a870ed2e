"""`quarterdeck experiments`: plan, run, follow, repeat and compare experiments."""

COMMANDS = {
    "plan": "Show what an experiment would create and cost",
    "run": "Apply an experiment and follow it to its end",
    "rerun": "Run a finished experiment again under another name",
    "resume": "Complete an experiment in manual mode",
    "tree": "Show an experiment and everything that belongs to it",
    "compare": "Compare the results of two experiments",
}
