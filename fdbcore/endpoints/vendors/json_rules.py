"""A party's actions with a declared protocol when messages come: the rules of its table."""

import base64
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.account_party import AccountParty
from fdbcore.endpoints.vendors.early import EarlyParty
from fdbcore.endpoints.vendors.errors import VendorError, named_error
from fdbcore.endpoints.vendors.items import from_pcm16
from fdbcore.endpoints.vendors.json_keys import CAUSES
from fdbcore.endpoints.vendors.json_table import AudioForm, MessageRule, Table
from fdbcore.endpoints.vendors.json_template import at, needed
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.uplink import Uplink, pcm16
from fdbcore.errors import PartyError
from fdbcore.models.account import Account
from fdbcore.runtime.json_values import json_or_text
from fdbcore.types import SAMPLE_RATE_HZ
from fdbcore.types.system_events import SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import ToolCall

LATE_S: Final = 0.5
"""Audio that still comes so long after a cut belongs to another turn, if no message says so before."""

_FILES: Final = {b"RIFF": "a WAV file", b"OggS": "an Ogg file"}


class RuledParty(AccountParty, EarlyParty):
    """Follows the rules of a table.

    If a rule says which message ends a turn, the first turn is the item `turn_1`; else an utterance ends with a pause.
    """

    kind: ClassVar[str] = "json-ws"

    def __init__(self, account: Account, table: Table, asked: Json, timeout_s: float) -> None:
        self._names_turns = table.does("turn_ends")
        uplink = uplink_of(table.hears, table.packet_ms)
        EarlyParty.__init__(self, account.name, uplink, table.says.rate_hz, self._names_turns, timeout_s)
        AccountParty.__init__(self, account, "", asked)
        self._table, self._says = table, table.says
        self._turn, self._is_in_turn = 1, False
        self._cut_until_ns: int | None = None  # until then, audio may still belong to the turn that was cut
        self._cut_number = 0  # pieces of audio up to this one were cut; they count from 1
        self._n_heard = 0  # transcripts of the partner
        self._calls: dict[str, str] = {}  # the names of calls by their ids
        self._do: Mapping[str, Callable[[MessageRule, Json], None]] = {
            "ready": lambda rule, event: None,
            "send": lambda rule, event: self.send(self._message(rule.fields["what"], event)),
            "audio": self._hear,
            "cut": self._cut,
            "turn_begins": lambda rule, event: self._begin_turn(),
            "turn_ends": lambda rule, event: self._end_turn(),
            "speech_started": lambda rule, event: self.note(SYSTEM_TURN, name=rule.does),
            "speech_stopped": lambda rule, event: self.note(SYSTEM_TURN, name=rule.does),
            "words": self._transcribe,
            "call": self._call,
            "cancel": self._cancel,
            "fail": self._fail,
            "finish": lambda rule, event: self.end("finished"),
        }

    @abstractmethod
    def _message(self, name: str, event: Json | None = None, /, **more: object) -> Json:
        """A message of the table. event: the one that it answers."""

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`."""
        text = f"{code or ''} {said}".strip()
        if (name := self._table.ending(text)) in CAUSES:
            return VendorError(self.account, CAUSES[name], text)
        return named_error(self.account, code, said) if code is not None and code < 1000 else None

    def take(self, event: Json) -> None:
        """Do what the table says for one message of the server."""
        rules = self._table.of(event)
        if not any(rule.does == "audio" for rule in rules):
            self._log(event)
        for rule in rules:
            self._do[rule.does](rule, event)

    def _log(self, event: Json) -> None:
        self.log_event(str(event.get(self._table.top["type_field"])), self._without_type(event))

    def _without_type(self, event: Json) -> Json:
        return {name: value for name, value in event.items() if name != self._table.top["type_field"]}

    def _hear(self, rule: MessageRule, event: Json) -> None:
        data = str(needed(event, rule.fields["data"]))
        try:
            audio = base64.b64decode(data, validate=True)
        except ValueError:
            self.not_audio(data)
            return
        number = _number(rule, event)
        if number is not None and number <= self._cut_number:
            n_samples = len(audio) if self._says.is_mulaw else len(audio) // 2
            self.items.late_samples += n_samples * SAMPLE_RATE_HZ // self._says.rate_hz
        else:
            self._play(audio)

    def _play(self, audio: bytes) -> None:
        if not self.stream.begun_items and (name := _FILES.get(audio[:4])):
            self.end(f"sent {name} as audio, expected {self._says} without a header")
            return
        pcm = from_mulaw(audio) if self._says.is_mulaw else from_pcm16(audio)
        if not self._names_turns:
            self.items.push_unnamed(pcm)
            return
        if self._cut_until_ns is not None and now_ns() >= self._cut_until_ns:
            self._begin_turn()
        self._is_in_turn = True
        self.items.push(self._item, pcm)

    @property
    def _item(self) -> str:
        return f"turn_{self._turn}" if self._names_turns else self.items.utterance

    def _begin_turn(self) -> None:
        """Begin a turn: what comes from now on is not of one that was cut."""
        if self._cut_until_ns is not None:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._is_in_turn:
            self.items.end(self._item)
            self._turn += 1
        self._is_in_turn, self._cut_until_ns = False, None

    def _cut(self, rule: MessageRule, event: Json) -> None:
        """Drop what was not yet heard, and what still comes of the turn that goes on."""
        self._cut_number = max(self._cut_number, _number(rule, event) or 0)
        self.cut_short()
        if self._is_in_turn:
            self.items.drop(self._item)
            self._cut_until_ns = now_ns() + round(LATE_S * 1e9)

    def _transcribe(self, rule: MessageRule, event: Json) -> None:
        text = needed(event, rule.fields["text"]).strip()
        if not text:
            return
        item = self._item
        if rule.fields["of"] == "partner":
            self._n_heard += 1
            item = f"input_{self._n_heard}"
        told = {name: at(event, rule.fields[name]) for name in ("start_ms", "end_ms") if rule.fields[name]}
        times = {name: round(self.uplink.session_ms(float(ms)), 1) for name, ms in told.items() if ms is not None}
        self.note(TRANSCRIPT, of=rule.fields["of"], text=text, item=item, **times)

    def _call(self, rule: MessageRule, event: Json) -> None:
        for each in _each(rule, event):
            number, name = (str(needed(each, rule.fields[field])) for field in ("id", "name"))
            arguments = at(each, rule.fields["arguments"])
            self._calls[number] = name
            read = json_or_text(arguments) if isinstance(arguments, str) else arguments
            self.call(ToolCall("complete", number, name, {} if read is None else read))

    def _cancel(self, rule: MessageRule, event: Json) -> None:
        for each in _each(rule, event):
            number = str(needed(each, rule.fields["id"]))
            self.call(ToolCall("cancelled", number, self._calls.get(number, "")))

    def _fail(self, rule: MessageRule, event: Json) -> None:
        error = self._told(event)
        self.end(str(error).removeprefix(f"{self.name}: "), error.transient)

    def _told(self, event: Json) -> PartyError:
        """The error that a message tells, with all its texts and numbers."""
        said = " ".join(_scalars(self._without_type(event)))
        return self.named(None, said) or self.error(f"the server tells an error: {said}")


def _number(rule: MessageRule, event: Json) -> int | None:
    """The number of a piece of audio in a message; None if it has none."""
    found = at(event, rule.fields["number"])
    return None if found is None else int(found)


def uplink_of(form: AudioForm, packet_ms: int) -> Uplink:
    """The uplink to a party that hears this form, in packets of this length."""
    return Uplink(form.rate_hz, packet_ms, mulaw if form.is_mulaw else pcm16)


def _each(rule: MessageRule, event: Json) -> Iterator[Any]:
    """The calls in a message."""
    yield from needed(event, rule.fields["each"]) if rule.fields["each"] else [event]


def _scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _scalars(each)
    elif value is not None:
        yield str(value)
