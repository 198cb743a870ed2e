"""Pure decisions, without I/O: placement, claims, fleets, pools, orphans."""
