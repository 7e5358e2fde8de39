"""`python -m fdbcore.cli`."""

from .main import main

main()
