"""Tag sets: which acts there are, what they mean, and what it costs to swap one for another, as a TOML file.

A file `acts.toml` in a folder of prompts (see `prompts`) sets the acts of the sets of records that have this folder.
Without one, the acts are the seven of the paper.

    name = "mine"
    rules.en = "..."                # rules of annotation, after the definitions; none are needed

    [[acts]]
    name = "Question"
    short = "Q"                     # for narrow blocks of the pictures
    colour = "#77aadd"
    definition.en = "Asks the user for something that the assistant does not know."

    [[related]]                     # partial credit: swapping the two costs this share of the mean of their weights
    acts = ["Question", "Check-Question"]
    factor = 0.5
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from fdbcore._ext.align import FACTOR_ONE
from fdbcore.errors import InputError
from fdbcore.runtime import misfits, unexpected, utf8_text
from fdbcore.runtime.toml_values import toml_values

DATA: Final = Path(str(files("fdbcore.suites.dialogue_acts"))) / "data"
"""Data that ship with the suite."""
FILE: Final = "acts.toml"
NO_ACT: Final = "none"
"""The name in place of an act where there is none, so no act can have this name."""
MAX_TAGS: Final = 64
MAX_SHORT: Final = 6

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")


class TagJson(TypedDict):
    """An act."""

    name: str
    short: str
    colour: str
    definition: dict[str, str]


class RelatedJson(TypedDict):
    """Two acts, and the factor of a swap."""

    acts: list[str]
    factor: float


class TagSetJson(TypedDict):
    """A tag set, as its file and a scores document have it."""

    name: str
    acts: list[TagJson]
    related: NotRequired[list[RelatedJson]]
    rules: NotRequired[dict[str, str]]


@dataclass(frozen=True)
class TagSet:
    """The acts that replies are labelled with. related: of pairs of acts, the factor of a swap, from 0 to 1.

    short: the name of an act where there is little room. colour: "#rrggbb". definition: by language.
    A factor is on the mean weight of the two acts, which is what a swap costs in the paper; of any other pair it is 1.
    rules: how to annotate, by language.
    """

    name: str
    acts: tuple[TagJson, ...]
    related: Mapping[frozenset[str], float] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the acts; the position of an act is its code in packed arrays."""
        return tuple(act["name"] for act in self.acts)

    @cached_property
    def by_name(self) -> Mapping[str, TagJson]:
        """The acts by name."""
        return {act["name"]: act for act in self.acts}

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The codes of the acts by name."""
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def factors(self) -> npt.NDArray[np.int16] | None:
        """The matrix of the factors in thousandths, (acts, acts): 0 on the diagonal; None if all others are 1."""
        if not self.related:
            return None
        found = FACTOR_ONE * (1 - np.eye(len(self.acts), dtype=np.int16))
        for pair, factor in self.related.items():
            a, b = (self.codes[name] for name in pair)
            found[a, b] = found[b, a] = round(factor * FACTOR_ONE)
        return found.astype(np.int16)

    @property
    def without_credit(self) -> "TagSet":
        """The set with a factor of 1 for every swap, as in the paper."""
        return replace(self, related={})

    def told(self, language: str) -> str:
        """The prompt in a language: the acts with their definitions, then the rules. "" if there are none."""
        if any(language not in act["definition"] for act in self.acts):
            return ""
        lines = [f"- {act['name']}: {act['definition'][language]}" for act in self.acts]
        return "\n\n".join(filter(None, ["\n".join(lines), self.rules.get(language, "").strip()]))

    def to_json(self) -> TagSetJson:
        """The set as a scores document has it: what the file has, without the rules."""
        return {
            "name": self.name,
            "acts": list(self.acts),
            "related": [{"acts": sorted(pair), "factor": factor} for pair, factor in self.related.items()],
        }


def parsed(content: TagSetJson) -> TagSet:
    """The tag set of a file that has no `faults`, or of a scores document."""
    return TagSet(
        content["name"],
        tuple(content["acts"]),
        {frozenset(pair["acts"]): float(pair["factor"]) for pair in content.get("related", ())},
        content.get("rules", {}),
    )


@cache
def paper_acts() -> TagSet:
    """The seven acts of the paper, with a factor of 1 for every swap."""
    return tags_in(None).without_credit


def tags_in(folder: Path | None) -> TagSet:
    """The tag set in a folder of prompts; without one, the shipped seven acts.

    InputError, which names the first fault, if it cannot be used.
    """
    own = folder is not None and (folder / FILE).is_file()
    path = folder / FILE if folder and own else DATA / FILE
    content, found = checked(path)
    if found:
        more = f" (and {len(found) - 1} more: fdbcore acts validate {path})" if len(found) > 1 else ""
        raise InputError(f"{path}: {found[0]}{more}")
    return parsed(content)


def checked(path: Path) -> tuple[TagSetJson, list[str]]:
    """The content of a TOML file, and its faults, a line each. InputError if it cannot be read."""
    text = utf8_text(path)
    try:
        content: Any = toml_values(text)
    except ValueError as error:
        raise InputError(f"{path}: expected TOML: {error}") from error
    return content, list(faults(content))


def faults(content: TagSetJson) -> Iterator[str]:
    """Faults of the content of a file, a line each: where, what was expected, what was found."""
    of_shape = [f"{where}: {reason}".lstrip(": ") for where, reason in misfits(content, TagSetJson, "")]
    if of_shape:
        yield from of_shape
        return
    acts, names = content["acts"], [act["name"] for act in content["acts"]]
    if len(acts) > MAX_TAGS:
        yield f"acts: expected at most {MAX_TAGS}, got {len(acts)}"
    for act in acts:
        yield from _of_act(f"act {act['name']}", act)
    for key in ("name", "short", "colour"):
        yield from _of_one_kind(key, [act[key] for act in acts])
    told = {f"act {act['name']}: definition": act["definition"] for act in acts} | {"rules": content.get("rules", {})}
    languages = dict.fromkeys(language for texts in told.values() for language in texts)
    for where, texts in told.items():
        yield from _of_texts(where, texts, () if where == "rules" else languages)
    for number, pair in enumerate(content.get("related", []), 1):
        yield from _of_pair(f"related {number}", pair, names)
    pairs = Counter(" and ".join(sorted(pair["acts"])) for pair in content.get("related", []))
    yield from (f"related: expected each pair once, got {pair} {n} times" for pair, n in pairs.items() if n > 1)


def _of_act(where: str, act: TagJson) -> Iterator[str]:
    if not _NAME.fullmatch(act["name"]) or act["name"].lower() == NO_ACT:
        yield f"{where}: name: expected letters, digits and hyphens, and not {NO_ACT!r}, got {act['name']!r}"
    if len(act["short"]) > MAX_SHORT:
        yield f"{where}: short: expected at most {MAX_SHORT} characters, got {act['short']!r}"
    if not _COLOUR.fullmatch(act["colour"]):
        yield f'{where}: colour: expected "#rrggbb", got {act["colour"]!r}'
    if not act["definition"]:
        yield f"{where}: definition: expected a text in a language such as en or ja, got none"


def _of_one_kind(key: str, values: Sequence[str]) -> Iterator[str]:
    """Faults of several acts that have a value alike; upper and lower case are the same but in short names."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for value in values:
        alike[value if key == "short" else value.lower()].append(value)
    for same in alike.values():
        if len(same) > 1:
            yield f"acts: expected each {key} once, got {' and '.join(map(repr, same))}"


def _of_texts(where: str, texts: Mapping[str, object], needed: Iterable[str]) -> Iterator[str]:
    """needed: the languages that some act is defined in; a model that is asked in one must hear of every act."""
    for language in needed:
        if language not in texts:
            yield f"{where}.{language}: expected a text, as other acts have one, got none"
    for language, text in texts.items():
        if not _LANGUAGE.fullmatch(language):
            yield f"{where}: expected a language such as en or ja, got {language!r}"
        if not isinstance(text, str) or not text.strip():
            yield f"{where}.{language}: {unexpected('', 'a text', text).reason}"


def _of_pair(where: str, pair: RelatedJson, names: Sequence[str]) -> Iterator[str]:
    acts, thousandths = pair["acts"], pair["factor"] * FACTOR_ONE
    if len(set(acts)) != 2 or len(acts) != 2:
        yield f"{where}: acts: expected two, got {', '.join(acts)}"
    for act in acts:
        if act not in names:
            yield f"{where}: acts: expected two of {', '.join(names)}, got {act!r}"
    if not 0 <= thousandths <= FACTOR_ONE or abs(thousandths - round(thousandths)) > 1e-9:
        yield f"{where}: factor: expected 0 to 1 with at most three decimals, got {pair['factor']:g}"
