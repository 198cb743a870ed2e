"""Types for every node of a tree: start at `checker`; what may be called is in `declarations`."""
