"""What wakes a controller: predicates filter events, handlers map them to keys."""
