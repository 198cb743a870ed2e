"""The providers: the only code that talks to hypervisors."""
