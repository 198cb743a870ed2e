"""`python -m quarterdeck.cli`, for where no script is installed."""

from quarterdeck.cli.main import main

main()
