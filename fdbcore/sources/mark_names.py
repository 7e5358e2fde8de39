"""The meaning of names in agents' logs: the events that split an answer, and the starts and ends of speech.

The names are those of LiveKit Agents (session report, JSON log, traces), of Pipecat (log, traces), of Vapi, of
OpenTelemetry's GenAI conventions (a span is called by its operation, such as "chat MODEL"), and those that people give
in logs of their own. They are compared without case and punctuation.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from fdbcore.recording.agent_log import Place

SPEECH_FINAL: Final = "speech final"
_EVENTS: Final[Mapping[str, Sequence[str]]] = {
    SPEECH_FINAL: (
        r"(user )?(speech|utterance) (is )?final",
        r"(user )?(turn|utterance|speech) (decided|committed|completed?)",
        r"end of (turn|speech|utterance)( decided| detected)?",
        r"eou wait ends|user turn ends|eou detection ends|eou metrics|eou( detected)?",
        r"endpoint(ing|ed)?( ends| detected| done)?",
        r"(user|caller|customer) stopped( speaking)?",
        r"agent thinking",
        r"final transcript\w*( received)?|(stt |asr )?transcript(ion)? (is )?final",
        r"(stt|asr) (final|ends|done|completed?)",
    ),
    "transcribed": (r"transcribed",),
    "first token": (
        r".*\bfirst (llm )?token( received)?|(llm )?(ttft|time to first token)",
        r"llm node first output",
        r".*llm.* (first output|first byte|ttfb)",
        r"(chat|generate content|text completion|model)\b.* first (output|byte)",
        r"(llm|model) (starts|started|responds|responded|response)",
    ),
    "first audio": (
        r".*\bfirst (audio|sound|speech)( frame| chunk| byte| out)?( received)?",
        r"tts node first output",
        r".*(tts|synthes|text to speech).* (first (output|byte|chunk|frame)|ttfb)",
    ),
    "playback": (
        r"(bot|agent|assistant|system) ((started|starts) speaking|speaking( begins| started)?|(speech )?begins)",
        r"(audio|playback|playout) (out|sent|plays|starts?|started|begins|began)|spoke",
    ),
}
"""The events that split an answer in their order, each with its names in logs, the most exact first."""

LONGEST_NAME: Final = 400
EVENTS: Final = tuple(_EVENTS)
"""The events, in the order in which they come in most answers."""

_OF_A: Final = re.compile(
    r"\b(user|caller|customer|human|examiner|vad|stt|asr|heard|hears?|transcript(ion)?|eou|eot|endpoint(ing|ed)?"
    r"|end of (turn|speech|utterance))\b"
)
_ENDS: Final = re.compile(
    r"\b(ends?|ended|stop(s|ped)?|finish(es|ed)?|done|completed?|played|closed?|silent|listening|idle|away"
    r"|interrupt(s|ed)?|cancel(s|led|ed)?)\b"
)
_STARTS: Final = re.compile(r"\b(starts?|started|begins|began|speaking)\b")
_NEITHER: Final = re.compile(r"\b(metrics|asked|prediction|predicted)\b")
_OF_SPANS: Final = re.compile(r"\b(begins|first output)$")


@cache
def plain(name: str) -> str:
    """A name (its first LONGEST_NAME characters) in lower case, with a space for all that is neither a letter nor a
    digit; "firstToken" is two words.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name[:LONGEST_NAME]).lower()
    return " ".join(re.findall(r"\w+", words.replace("_", " ")))


def events_of(names: Sequence[str]) -> dict[str, str]:
    """The names that split answers, each with its event; of several names of one event only the most exact.

    A name that stands for no known event is an event of its own, unless it is a start or an end, or concerns A.
    """
    found: dict[str, str] = {}
    for event, patterns in _EVENTS.items():
        ranked = [
            (rank, name) for name in names for rank, each in enumerate(patterns) if re.fullmatch(each, plain(name))
        ]
        if ranked:
            found[min(ranked, key=lambda each: each[0])[1]] = event
    for name in names:
        splits_nothing = any(each.search(plain(name)) for each in (_OF_A, _ENDS, _NEITHER, _OF_SPANS))
        if event_of(name) is None and not splits_nothing:
            found[name] = name
    return found


def event_of(name: str) -> str | None:
    """The event that a name stands for, None for a name that is not known."""
    text = plain(name)
    known = (event for event, patterns in _EVENTS.items() if any(re.fullmatch(each, text) for each in patterns))
    return next(known, None)


def last_event(names: Sequence[str]) -> str | None:
    """The last of the known events that the names stand for; None if they stand for none."""
    found = {event_of(name) for name in names}
    return next((event for event in reversed(EVENTS) if event in found), None)


def place_of(name: str) -> Place | None:
    """The place in the audio that a mark of this name can lie close to; None if there is none.

    A name that neither concerns A nor says that something ended may come just before B begins. The decision that A has
    finished is close to nothing: how long it takes is what a log is read for.
    """
    text = plain(name)
    if event_of(name) == SPEECH_FINAL or _NEITHER.search(text):
        return None
    if _OF_A.search(text):
        if _ENDS.search(text):
            return "ends of A's turns"
        return "starts of A's turns" if _STARTS.search(text) else None
    return "ends of B's turns" if _ENDS.search(text) else "starts of B's turns"
