"""Texts of others that are long and odd take no time: what reads them is linear."""

import time
from collections.abc import Callable
from functools import partial

import pytest

from fdbcore.analysis.word_checks import _EDGES
from fdbcore.endpoints.sentences import whole_sentences
from fdbcore.errors import InputError
from fdbcore.report.html.templates import linked
from fdbcore.runtime.json_values import resolved
from fdbcore.sources.log_event_names import event_of
from fdbcore.suites.dialogue_acts.writing.generate import _SPEAKER
from fdbcore.suites.staged.judging import quotes
from fdbcore.suites.staged.replies import EVENTS, TASK, read_reply
from fdbcore.suites.staged.scenario_files import _ROLE, _correction

SAID = {"said": [{"words": "never said so at all " * 20}] * 20}
READERS: list[tuple[Callable[[str], object], list[str]]] = [
    (read_reply, [" ", "\n", "```", "```json\n", "[", "{ 1", f'"{EVENTS}"', f'"{TASK}": ']),
    (lambda text: quotes(text, SAID), ["‘a ", "'a ", "“a", "「", "『", "«", '"', "1 ", "' "]),
    (_SPEAKER.search, ["\n", "\n ", "「", "user "]),
    (_ROLE.search, [".", "**Roleplay ", "a"]),
    (partial(_correction, where=""), ["T1", "T1 corrects ", "(", "a"]),
    (partial(_EDGES.sub, ""), ["!", "a!"]),
    (whole_sentences, [".", "\n", ". ", '."', "a"]),
    (linked, ["[", "[a](", "[a](#"]),
    (event_of, ["tts first ", "llm "]),
    (lambda text: resolved(f"$RESULT_{text}", [1]), ["1"]),
]


@pytest.mark.parametrize(("read", "part"), [(read, part) for read, parts in READERS for part in parts])
def test_what_reads_a_text_is_linear(read: Callable[[str], object], part: str) -> None:
    begun_s = time.thread_time()
    for around in ("", "``` ", "**Roleplay ", "T1 ("):
        try:
            read(around + part * (60_000 // len(part)) + "x)")
        except InputError:
            pass
    assert time.thread_time() - begun_s < 4
