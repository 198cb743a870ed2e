"""What every request shares: the `Core` and what it is made of."""
