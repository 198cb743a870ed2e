"""The engine of the life cycle: it runs the plans of controllers and writes their actions.

Start at `engine`, then `controller` and `actions`.
"""
