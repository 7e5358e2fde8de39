"""Entry point of the `fdbcore` command."""

import click


@click.group()
@click.version_option(package_name="fdbcore")
def main() -> None:
    """Run, replay and score full-duplex spoken conversations on one media clock."""
