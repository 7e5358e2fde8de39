"""The entry point of the `fdbcore` command."""

from .exits import ends_at_once


def main() -> None:
    """Run the command. From the first import on, Ctrl-C ends it with one line and exit code 130."""
    ends_at_once()
    from .main import main as command

    try:
        command()
    finally:
        ends_at_once()
