"""The embedded drivers: state and history in the data directory, for one process."""
