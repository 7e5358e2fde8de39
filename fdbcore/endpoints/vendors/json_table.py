"""Reads a table that declares how a vendor speaks JSON over a WebSocket. What is wrong with it is one line."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fdbcore.endpoints.vendors.json_keys import (
    AUDIO,
    CAUSES,
    FINISHED,
    FORM,
    HEARS_HZ,
    OPTION,
    RULES,
    SAYS_HZ,
    SENT,
    TICKET,
    TOP,
)
from fdbcore.endpoints.vendors.json_template import FROM_MESSAGE, JsonTemplate, at, placeholders
from fdbcore.errors import SettingsError, nearest
from fdbcore.models.account import SETTINGS as ACCOUNT_SETTINGS
from fdbcore.runtime.address import Setting, typed_values
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.toml_values import read_toml

KEY: Final = "key"
"""The placeholder of the key, in headers alone."""

_KINDS: Final[Mapping[str, type]] = {"text": str, "number": float, "flag": bool, "json": str}
_PARTS: Final = ("headers", "ticket", "settings", "audio", "send", "endings")


@dataclass(frozen=True, slots=True)
class AudioForm:
    """A form of audio: mono, as 16 bits little endian or as mu-law."""

    is_mulaw: bool
    rate_hz: int

    def __str__(self) -> str:
        return f"{'ulaw' if self.is_mulaw else 'pcm'}_{self.rate_hz}"

    def stated(self, value: object, rates_hz: Sequence[int]) -> "AudioForm":
        """The form that a value states, which may be a rate alone. ValueError for one that cannot be had."""
        found = FORM.fullmatch(value) if isinstance(value, str) else None
        is_mulaw, rate_hz = (found[1] != "pcm", int(found[2])) if found else (self.is_mulaw, value)
        if type(rate_hz) is not int or rate_hz not in rates_hz:
            expected = ", ".join(map(str, rates_hz))
            raise ValueError(f"expected pcm_RATE or ulaw_RATE of {expected} Hz, got {value!r}")
        return AudioForm(is_mulaw, rate_hz)


@dataclass(frozen=True, slots=True)
class MessageRule:
    """An action for a kind of message. where: what must be at which place. fields: see RULES."""

    message: str
    does: str
    where: Mapping[str, Any]
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A declared protocol. top: see TOP. ticket: the path of the request for the WebSocket's address, and the place of
    this in the answer; "" if there is none. json_settings: those whose text is JSON. file_settings: those that may be
    "@FILE". endings: names, each with what its text must hold.
    """

    name: str
    sha256: str
    top: Mapping[str, str]
    ticket: Mapping[str, str]
    headers: Mapping[str, str]
    settings: tuple[Setting, ...]
    json_settings: Set[str]
    file_settings: Set[str]
    hears: AudioForm
    says: AudioForm
    packet_ms: int
    send: Mapping[str, JsonTemplate]
    rules: tuple[MessageRule, ...]
    endings: Mapping[str, re.Pattern[str]]

    def of(self, message: Mapping[str, Any]) -> list[MessageRule]:
        """The rules for a message of the server, in their order."""
        name = message.get(self.top["type_field"])
        return [
            rule
            for rule in self.rules
            if rule.message == name and all(at(message, place) == value for place, value in rule.where.items())
        ]

    def does(self, action: str) -> bool:
        """True if some rule does this."""
        return any(rule.does == action for rule in self.rules)

    def ending(self, text: str) -> str:
        """The name of the ending with this text; "" if none has it."""
        return next((name for name, pattern in self.endings.items() if pattern.search(text)), "")


def read_table(path: Path) -> Table:
    """The table in a file. SettingsError if there is none, or if something in it is wrong or missing."""
    values, data = read_toml(path)
    known = [*(key.name for key in TOP), *_PARTS, "on"]
    for name in values.keys() - set(known):
        raise SettingsError(f"{path}: expected {', '.join(known)}, got {name!r}{nearest(name, known)}")
    parts = {name: _part(str(path), name, values.pop(name, {})) for name in _PARTS}
    rules = _rules(str(path), values.pop("on", []))
    audio = _all(f"{path}: audio", parts["audio"], AUDIO)
    options = {name: _all(f"{path}: settings.{name}", each, OPTION) for name, each in parts["settings"].items()}
    table = Table(
        name=path.stem,
        sha256=hashlib.sha256(data).hexdigest(),
        top=_all(str(path), values, TOP),
        ticket=_all(f"{path}: ticket", parts["ticket"], TICKET) if parts["ticket"] else {},
        headers=_texts(f"{path}: headers", parts["headers"]),
        settings=tuple(_setting(f"{path}: settings", name, option) for name, option in options.items()),
        json_settings={name for name, option in options.items() if option["kind"] == "json"},
        file_settings={name for name, option in options.items() if option["or_file"]},
        hears=_form(f"{path}: audio.hears", audio["hears"], HEARS_HZ),
        says=_form(f"{path}: audio.says", audio["says"], SAYS_HZ),
        packet_ms=audio["packet_ms"],
        send={
            name: JsonTemplate(text, f"{path}: send.{name}")
            for name, text in _texts(f"{path}: send", parts["send"]).items()
        },
        rules=tuple(rules),
        endings={
            name: _pattern(f"{path}: endings.{name}", name, text)
            for name, text in _texts(f"{path}: endings", parts["endings"]).items()
        },
    )
    for fault in _faults(table):
        raise SettingsError(f"{path}: {fault}")
    return table


def _part(file: str, name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{file}: {name}: expected a table, got {value!r}")
    return value


def _texts(where: str, values: Mapping[str, object]) -> dict[str, str]:
    for name, value in values.items():
        if not isinstance(value, str):
            raise SettingsError(f"{where}.{name}: expected a text, got {value!r}")
    return {name: str(value) for name, value in values.items()}


def _all(where: str, values: object, known: Sequence[Setting]) -> dict[str, Any]:
    """The values of all known keys. SettingsError for one that is wrong, unknown, or missing without a default."""
    found = typed_values(where, _part(where, "it", values), known)
    for key in known:
        if found[key.name] is None:
            raise SettingsError(f"{where}: {key.name}: expected {key.expected}, got none")
    return found


def _form(where: str, text: str, rates_hz: Sequence[int]) -> AudioForm:
    try:
        return AudioForm(False, 0).stated(text, rates_hz)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from None


def _setting(where: str, name: str, option: Mapping[str, Any]) -> Setting:
    if name in {each.name for each in ACCOUNT_SETTINGS} or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise SettingsError(f"{where}: expected names of letters, other than base_url and key_variable, got {name!r}")
    setting = Setting(name, option["meaning"], _KINDS[option["kind"]], unset="the vendor's")
    if option["kind"] == "json":
        setting = replace(setting, form="a JSON object", fits=_is_json)
    setting = replace(setting, choices=tuple(option["choices"].split()))
    default = setting.read(where, option["default"]) if option["default"] else None
    return replace(setting, default=default)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json_value(text), dict)
    except ValueError:
        return False


def _rules(file: str, values: object) -> list[MessageRule]:
    if not isinstance(values, list):
        raise SettingsError(f"{file}: on: expected a list of rules, got {values!r}")
    return [_rule(f"{file}: on[{number}]", dict(_part(file, "on", each))) for number, each in enumerate(values, 1)]


def _rule(where: str, values: dict[str, Any]) -> MessageRule:
    conditions = _part(where, "where", values.pop("where", {}))
    does = values.get("does")
    if not isinstance(does, str) or does not in RULES:
        raise SettingsError(f"{where}: does: expected one of {', '.join(RULES)}, got {does!r}")
    fields = _all(where, values, (Setting("message", "its name"), Setting("does", "what"), *RULES[does]))
    return MessageRule(fields.pop("message"), fields.pop("does"), conditions, fields)


def _pattern(where: str, name: str, text: str) -> re.Pattern[str]:
    if name not in (*CAUSES, FINISHED):
        raise SettingsError(f"{where}: expected one of {', '.join((*CAUSES, FINISHED))}")
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise SettingsError(f"{where}: expected a regular expression, got: {error}") from None


def _faults(table: Table) -> Iterator[str]:
    """Names that nothing explains, what nothing uses, and what every session needs and the table lacks."""
    settings = {setting.name for setting in table.settings}
    sent = {rule.fields["what"] for rule in table.rules if rule.does == "send"}
    found = {"path": table.top["path"], "ticket.path": table.ticket.get("path", "")}
    names = {where: (placeholders(text), settings) for where, text in found.items()}
    names |= {f"headers.{name}": (placeholders(text), {KEY}) for name, text in table.headers.items()}
    for name, template in table.send.items():
        own = [each for each in template.names if not (name in sent and each.startswith(FROM_MESSAGE))]
        names[f"send.{name}"] = own, settings | SENT.get(name, {"tools"})
    for where, (used, known) in names.items():
        for name in set(used) - known:
            yield f"{where}: expected {{NAME}} of {', '.join(sorted(known)) or 'nothing'}, got {{{name}}}"
    all_used = {name for used, _ in names.values() for name in used}
    for name in settings - all_used:
        yield f"settings.{name}: expected {{{name}}} in a path or a message, got it in none"
    for name in sent - table.send.keys():
        yield f"on: expected a message of [send], such as {', '.join(table.send)}, got {name!r}"
    for name in table.send.keys() - sent - SENT.keys():
        yield f"send.{name}: expected a rule that sends it, got none"
    if bool(table.top["path"]) == bool(table.ticket):
        yield f"path: expected either path or [ticket], got {'both' if table.ticket else 'neither'}"
    if not table.does("ready"):
        yield "on: expected a rule with does = 'ready', got none"
    if table.top["place"] not in ("", *settings):
        yield f"place: expected the name of a setting, got {table.top['place']!r}"
    if table.does("call") != ("result" in table.send):
        yield "send.result: expected it beside a rule with does = 'call', got one of them"
    if ("tools" in all_used) != ("tool" in table.send):
        yield "send.tool: expected it beside {tools}, got one of them"
