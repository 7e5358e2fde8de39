"""`python -m fdbcore.cli`."""

from .entry import main

if __name__ == "__main__":
    main()
