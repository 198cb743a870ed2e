"""Types for every node of a tree: start at `check`; what may be called is in `declarations`."""
