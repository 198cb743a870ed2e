"""Schema nodes as CEL types (`declaration`), and stored JSON as CEL values (`conversion`)."""
