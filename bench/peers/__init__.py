"""What we are measured against, and what drives both: run as processes of their own."""
