"""Text to tree: `lexer`, `stream`, `parser`, `macros`; the tree itself is in `ast`."""
