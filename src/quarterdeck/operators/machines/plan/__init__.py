"""What decides, without talking to anybody: placement, claims, fleets, pools, orphans. Pure."""
