"""`quarterdeck metrics`: MetricSources in files."""

COMMANDS = {"preview": "Show what a MetricSource collects, without creating it"}
