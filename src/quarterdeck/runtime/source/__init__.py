"""Sources of a controller's keys: predicates filter events, handlers map them to keys."""
