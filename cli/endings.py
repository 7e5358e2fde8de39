"""How a command ends that did not go as planned: one line and an exit code, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from fdbcore.errors import FdbError, InputError

from .options import FAILED, INTERRUPTED


@contextmanager
def one_line(command: str, interrupted: str, failed: str = "") -> Iterator[None]:
    """What the user gave wrongly is wrong usage; of any other error, and of Ctrl-C, one line is said.

    interrupted, failed: what is said after it of what is kept, or how to go on.
    """
    try:
        yield
    except InputError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"{command}: {error}", err=True)
        if failed:
            click.echo(f"{command}: {failed}", err=True)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        click.echo(f"{command}: interrupted; {interrupted}", err=True)
        sys.exit(INTERRUPTED)
