"""The commands, one module each; a package is a group of them under one noun."""
