"""The pytest plugin that `pip install quarterdeck` registers."""
