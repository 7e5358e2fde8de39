"""Ends a command that went wrong with one line and an exit code, never with a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from fdbcore.errors import FdbError, InputError, PartyError
from fdbcore.runtime.redaction import redacted

from .options import FAILED, INTERRUPTED


@contextmanager
def one_line(
    command: str,
    interrupted: str | None = None,
    failed: str = "",
    code: int = FAILED,
    usage: tuple[type[FdbError], ...] = (InputError,),
) -> Iterator[None]:
    """Turn an error of `usage` into a usage error, and any other error, or Ctrl-C, into one line and an exit code.

    interrupted, failed: added after Ctrl-C or an error; they say what is kept, or how to continue. Without the first,
    Ctrl-C is left to others. code: the exit code of an error.
    """
    try:
        yield
    except usage as error:
        raise click.UsageError(redacted(str(error))) from None
    except FdbError as error:
        click.echo(f"{command}: {redacted(str(error))}", err=True)
        if failed:
            stays = isinstance(error, PartyError) and not error.transient  # such as a wrong key
            click.echo(f"{command}: {'once this is mended, ' if stays else ''}{failed}", err=True)
        sys.exit(code)
    except KeyboardInterrupt:
        if interrupted is None:
            raise
        click.echo(f"{command}: interrupted; {interrupted}", err=True)
        sys.exit(INTERRUPTED)
