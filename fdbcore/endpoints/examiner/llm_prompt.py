"""The prompt of a language model that plays an examiner, in our own words, and the reader of its reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from fdbcore.endpoints.examiner.agenda import Agenda
from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.runtime.json_values import json_value
from fdbcore.types.chat import ChatMessage

VERSION: Final = 1
"""Of these words: it stands in recordings, and grows with each change."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "met": {"type": "boolean"}, "say": {"type": "string"}},
    "required": ["reason", "met", "say"],
    "additionalProperties": False,
}

_RULES: Final = """\
You play a person in a spoken conversation with a voice assistant. Stay this person. What you put into "say" is spoken
aloud to the assistant, word for word. The conversation is a test of the assistant, which never learns this.

Who you are: {role}
What you know: {background}

How you talk:
- One or two short sentences a turn, as people talk. No lists, no symbols, no stage directions.
- You have one present aim. Put it in your own words; do not read it out. Talk of nothing that belongs to a later aim.
- If the assistant asks for something that you do not know, make up a small, ordinary answer, and keep to it.
- If it leaves the subject, bring it back with a few words, and put your aim in another way.
- Never say the same sentence twice, never speak for the assistant, and never mention aims, roles or a test.
- Do not say goodbye: your last words are said for you once all your aims are done.

Answer with one JSON object: {{"reason": text, "met": true or false, "say": text}}"""

_DEALT_WITH: Final = "the assistant has understood it and dealt with it: confirmed, answered, or clearly declined"
_JUDGE: Final = (
    "First decide by the assistant's own words alone whether the present aim is met: a promise to do it later does not "
    "meet it. In `reason`, quote the words that decide it in one short sentence; then set `met`."
)
_STAY: Final = "`say` stays with the present aim: put it another way, or ask for what is missing."
_OPENS: Final = "`say` opens the conversation with your present aim."
_NOTHING: Final = "leave `say` empty: your last words are said for you."


class LlmReply(NamedTuple):
    """The model's decision, and what it says next; "" if nothing is left to say."""

    reason: str
    met: bool
    say: str


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A line of the conversation, by one side. is_cut: it broke off, and this is what was heard of it."""

    who: Literal["You", "Assistant"]
    text: str
    is_cut: bool = False

    def __str__(self) -> str:
        return f"{self.who}: {self.text}{' ... (broken off)' if self.is_cut else ''}"


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """One question to the model. say_if: by whether the present goal is met: the goal for which it then speaks; None:
    it says nothing. judges: whether it is to judge the goal.
    """

    messages: Sequence[ChatMessage]
    say_if: Mapping[bool, Goal | None]
    judges: bool


def request(
    brief: Brief, agenda: Agenda, lines: Sequence[ChatLine], heard: str | None, still_speaks: bool = False
) -> LlmRequest:
    """The request at a cue. lines: what was said so far. heard: the assistant's words since the last of them; None: it
    said nothing. still_speaks: it goes on. There is a present goal.
    """
    present, following = agenda.present, agenda.following
    assert present is not None
    goal, after = present.goal, None if following is None else following.goal
    judges = bool(present.sayings) and heard is not None
    drops = bool(present.sayings) and agenda.is_last_saying
    said = [*map(str, lines)]
    if heard is not None:
        said.append(f"Assistant: {heard or '(nothing that could be understood)'}{' ... (still speaks)' * still_speaks}")
    elif lines:
        said.append("Assistant: (has said nothing)")
    asked = ["The conversation so far:", *(said or ["(You open it.)"]), ""]
    asked += [f"Your present aim: {goal.goal}", f"It is met once: {goal.met or _DEALT_WITH}."]
    asked += [f"Speak this language: {goal.language} (ISO 639-1).", ""]
    unmet = _moves_on(goal, after, "drop it without a word, and ") if drops else _STAY
    if judges:
        asked += [_JUDGE, f"If it is met, {_moves_on(goal, after)}", f"If it is not met, {unmet}"]
    else:
        asked += ['`reason` is "", and `met` is false.', unmet if present.sayings else _OPENS]
    return LlmRequest(
        [
            ChatMessage("system", _RULES.format(role=brief.role, background=brief.background or "Nothing special.")),
            ChatMessage("user", "\n".join(asked)),
        ],
        {True: after, False: after if drops else goal},
        judges,
    )


def read_reply(text: str, asked: LlmRequest) -> LlmReply:
    """The reply in what the model has written, around which there may be other text. ValueError says what is wrong."""
    start, end = text.find("{"), text.rfind("}")
    found = json_value(text[start : end + 1]) if 0 <= start < end else None
    if not isinstance(found, dict):
        raise ValueError("expected one JSON object")
    for name, kind in (("reason", str), ("met", bool), ("say", str)):
        if not isinstance(found.get(name), kind):
            raise ValueError(
                f"{name}: expected {'true or false' if kind is bool else 'a text'}, got {found.get(name)!r:.60}"
            )
    met = found["met"] and asked.judges
    say = " ".join(found["say"].split())
    if asked.say_if[met] is None:
        say = ""
    elif not any(map(str.isalnum, say)):
        raise ValueError("say: expected words to speak, got none")
    return LlmReply(" ".join(found["reason"].split()) if asked.judges else "", met, say)


def _moves_on(goal: Goal, after: Goal | None, before: str = "") -> str:
    if after is None:
        return f"{before}{_NOTHING}"
    return f"{before}`say` goes on, in a natural way, to your next aim: {after.goal}{_in_language(goal, after)}"


def _in_language(before: Goal, after: Goal) -> str:
    return "" if before.language == after.language else f" (from now on, speak the language {after.language})"
