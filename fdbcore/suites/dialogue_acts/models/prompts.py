"""Prompts of models: prompt files with their placeholders filled in, and the JSON Schemas of the answers.

The files are those of `data/`, named NAME.LANGUAGE.txt; a file of the same name in the user's folder replaces one. The
acts and what a model is told of them may also be a tag set, in `acts.toml` (see `tag_sets`). In prompt files, `$name`
is a placeholder and `$$` a dollar sign.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

from fdbcore.errors import InputError, SettingsError
from fdbcore.runtime import utf8_text
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.tag_sets import DATA, FILE, TagSet, paper_acts, tags_in
from fdbcore.types import Request, object_schema

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "acts": frozenset(),
    "system": frozenset({"acts", "examples"}),
    "task": frozenset({"topic", "instruction"}),
    "annotate": frozenset({"acts", "background", "user", "reply"}),
    "again": frozenset({"previous", "error"}),
}
"""The prompt files of generation and annotation, and what each must hold."""

PAPER: Final = "paper"
"""Shipped prompts with the seven definitions of the paper (appendix A.2) in our words, without rules for borders."""
SHIPPED: Final = (PAPER, "iso-24617-2")
"""The shipped folders of prompts, by the names that users write: those of the paper, and of a part of ISO 24617-2."""

_SEEDS: Final = 2**31  # Gemini's are int32
_SEED_STEP: Final = 1_000_003  # far from the seeds of other items, which are one apart


def steps_schema(tags: TagSet | None = None) -> dict[str, Any]:
    """The JSON Schema of an annotation, as models get it. tags: None for the acts of the paper."""
    step = object_schema(
        {
            "act": {"type": "string", "enum": list((tags or paper_acts()).names)},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
            "words": {"type": "string"},
            "rationale": {"type": "string"},
        }
    )
    return object_schema({"steps": {"type": "array", "minItems": 1, "items": step}})


def record_schema(locale: str, tags: TagSet | None = None) -> dict[str, Any]:
    """The JSON Schema of a record in `locale`, as models get it: the four keys of the paper (appendix A)."""
    text = {"type": "string"}
    return object_schema(
        {
            "scenario_context": object_schema({"background": text}),
            "input": object_schema(
                {
                    "role": {"type": "string", "enum": ["USER"]},
                    "text": text,
                    "locale": {"type": "string", "enum": [locale]},
                }
            ),
            "output": object_schema({"role": {"type": "string", "enum": ["ASSISTANT"]}, "text": text}),
            "output_dialogue_acts": steps_schema(tags),
        }
    )


class Topic(NamedTuple):
    """The topic of a record; the ids of its records begin with `name`."""

    name: str
    instruction: str


@dataclass(frozen=True)
class Prompts:
    """The prompts of one locale. folder: files that replace the packaged ones.

    Its methods raise InputError if a file is missing, lacks a placeholder or has an unknown one.
    """

    locale: str = "ja-JP"
    folder: Path | None = None

    def record_request(self, topic: Topic, seed: int) -> Request:
        """The request for one record."""
        task = self._fill("task", topic=topic.name, instruction=topic.instruction)
        return Request(task, self._system, schema=record_schema(self.locale, self.tags), seed=seed % _SEEDS)

    def annotation_request(self, background: str, user: str, reply: str, seed: int) -> Request:
        """The request for the acts of a reply to what `user` said."""
        text = self._fill("annotate", acts=self._acts, background=background, user=user, reply=reply)
        return Request(text, schema=steps_schema(self.tags), seed=seed % _SEEDS)

    def again(self, request: Request, previous: str, error: str, asked: int) -> Request:
        """The request after `asked` answers that could not be used; its seed differs, or the same answer might come
        again.
        """
        told = self._fill("again", previous=previous, error=error)
        seed = None if request.seed is None else (request.seed + asked * _SEED_STEP) % _SEEDS
        return replace(request, user=f"{request.user}\n\n{told}", seed=seed)

    @cached_property
    def examples(self) -> Sequence[Mapping[str, Any]]:
        """The records that a model sees as examples."""
        name = f"examples.{self._language}.json"
        try:
            examples: list[Mapping[str, Any]] = json.loads(self._text(name))
            if not isinstance(examples, list):
                raise InputError(f"got {type(examples).__name__}")
            for number, example in enumerate(examples, 1):
                Record.from_json({"id": f"example {number}", **example}, tags=self.tags)
        except (ValueError, TypeError) as error:
            raise InputError(f"{name}: expected a JSON list of records without id: {error}") from error
        return examples

    @cached_property
    def tags(self) -> TagSet:
        """The acts that these prompts are about."""
        return tags_in(self.folder)

    @property
    def responding(self) -> Mapping[str, str]:
        """Prompts of parties that take them: "system" and "user"."""
        return {name: self._text(f"respond_{name}.{self._language}.txt").strip() for name in ("system", "user")}

    @property
    def own(self) -> Mapping[str, str]:
        """The files of the user's folder that replace packaged ones or stand beside them, with their texts, by name."""
        if self.folder is None:
            return {}
        names = [f"{name}.{self._language}.txt" for name in (*PLACEHOLDERS, "respond_system", "respond_user")]
        names += [f"examples.{self._language}.json", FILE]
        return {name: self._text(name) for name in names if (self.folder / name).is_file()}

    @cached_property
    def acts_hash(self) -> str:
        """The hash of the rules of the acts."""
        return _hash(self._acts)

    @cached_property
    def annotation_hash(self) -> str:
        """The hash of everything that an annotating model is told beside what it annotates."""
        return _hash(self._acts_as_written, *(self._template(name).template for name in ("annotate", "again")))

    @cached_property
    def generation_hash(self) -> str:
        """The hash of everything that a generating model is told."""
        return _hash(self._system, self._template("task").template, self._template("again").template)

    def topics(self, path: Path | None = None) -> tuple[Topic, ...]:
        """The topics in a file (None: the packaged one), one per line: name, tab, text. "#" begins a comment."""
        name = f"topics.{self._language}.txt"
        text = self._text(name) if path is None else _read(path, "a file of topics")
        lines = [line.strip() for line in text.splitlines()]
        found = [line.partition("\t") for line in lines if line and not line.startswith("#")]
        if not found:
            raise InputError(f"{path or name}: expected topics, a line each, found none")
        return tuple(Topic(topic.strip(), (instruction or topic).strip()) for topic, _, instruction in found)

    @property
    def _language(self) -> str:
        return self.locale.partition("-")[0]

    @cached_property
    def _system(self) -> str:
        shown = "\n".join(json.dumps(example, ensure_ascii=False) for example in self.examples)
        return self._fill("system", acts=self._acts, examples=shown)

    @property
    def _acts(self) -> str:
        """The prompt on the acts."""
        return self._told_of_acts or self._fill("acts")

    @property
    def _acts_as_written(self) -> str:
        return self._told_of_acts or self._template("acts").template

    @cached_property
    def _told_of_acts(self) -> str:
        """The prompt in the tag set of the folder, unless it has a file of its own; "" if neither the folder has."""
        own = f"acts.{self._language}.txt"
        if self.folder is None or (self.folder / own).is_file() or not (self.folder / FILE).is_file():
            return ""
        told = self.tags.told(self._language)
        if not told:
            raise InputError(f"{self.folder / FILE}: expected definitions in {self._language}, got none")
        return told

    def _fill(self, name: str, **values: str) -> str:
        return self._template(name).substitute(values).strip()

    def _template(self, name: str) -> Template:
        file = f"{name}.{self._language}.txt"
        template = Template(self._text(file))
        if not template.is_valid():
            raise InputError(f"{file}: expected $NAME for a placeholder and $$ for a dollar sign, got a lone $")
        found, expected = set(template.get_identifiers()), PLACEHOLDERS[name]
        if found != expected:
            listed = ", ".join(f"${key}" for key in sorted(expected)) or "no placeholder"
            wrong = ", ".join(f"${key}" for key in sorted(found ^ expected))
            raise InputError(f"{file}: expected {listed}; missing or unknown: {wrong}")
        return template

    def _text(self, file: str) -> str:
        if self.folder is not None and (self.folder / file).is_file():
            return _read(self.folder / file, "a prompt")
        packaged = DATA / file
        if not packaged.is_file():
            raise InputError(f"locale {self.locale}: expected {file} in a folder of prompts, found none")
        return packaged.read_text(encoding="utf-8")


def folder_of(given: Path | None) -> Path | None:
    """The folder of prompts that a user names; a name in SHIPPED, where no such folder is, names a shipped one.

    SettingsError if there is no such folder.
    """
    if given is None or given.is_dir():
        return given
    if str(given) not in SHIPPED:
        raise SettingsError(f"--prompts {given}: expected a folder of prompts, {' or '.join(SHIPPED)}")
    return DATA / given


def _hash(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def _read(path: Path, what: str) -> str:
    return utf8_text(path, f"expected {what}").replace("\r\n", "\n")
