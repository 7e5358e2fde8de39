"""The document of a recording, scored on the way."""

from typing import Any

from fdbcore.analysis.score import score
from fdbcore.measures.reading import Reading
from fdbcore.report.call.document import document


def document_of(reading: Reading) -> Any:
    """What the screen and the page of a recording are made of."""
    return document(reading, score(reading))
