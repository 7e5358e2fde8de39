"""Generates records of the benchmark by a language model, as the paper does (section 3.3, appendix A).

<folder>/replies.jsonl   every answer of the model, as it came (`fdbcore.models.cache`)
         generate.json   the settings; then what was counted: records, tokens, cost, exact versions of the model
         records.jsonl   the records, in the order of the plan
         prompts/        the prompts of the user's own, which replies to the set are asked for and annotated with
         dropped.jsonl   what could not be used: {"id", "topic", "instruction", "asked", "reason", "answer"}

What is wrong with an answer is told to the model in words. Records and what was dropped follow from the answers alone,
so a run may be killed at any moment, and goes on as if it had not been.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from fdbcore.errors import InputError, PartyError, SettingsError
from fdbcore.models import KeptModel, Usage
from fdbcore.protocols import Model
from fdbcore.recording import installed_versions, part_of, read_json, write_json, write_text
from fdbcore.runtime import clean
from fdbcore.suites.dialogue_acts.models.asking import MOST_ASKED, Bad, Good, Left, ask_for, in_order, parse_json
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, Topic
from fdbcore.suites.dialogue_acts.records import Record, jsonl
from fdbcore.suites.dialogue_acts.sets import GENERATED, GENERATED_SCHEMA, PROMPTS, RECORDS, generated
from fdbcore.suites.dialogue_acts.tag_sets import TagSet

DROPPED, REPLIES = "dropped.jsonl", "replies.jsonl"

KEYS: Final = ("scenario_context", "input", "output", "output_dialogue_acts")

JAPANESE_SHARE: Final = 0.3
"""Least share of kana and kanji among the letters of a Japanese text: it may be full of foreign names."""

NEAR_DUPLICATE: Final = 0.6
"""Two users' words are near-duplicates if this share of their character bigrams, or more, is in both (Jaccard index).

"10分のタイマーをセットして" and "5分のタイマーをセットして" have 0.79; among the 60 shipped requests the most is 0.17.
"""

_SPEAKER: Final = re.compile(r"(?:^|[\n「])[^\S\n]*(?:user|assistant|ユーザー?|アシスタント)\s*[:：]", re.IGNORECASE)
_JAPANESE: Final = re.compile(r"[\u3040-\u30ff\u3005\u3400-\u9fff\uf900-\ufaff]")
_KANA: Final = re.compile(r"[\u3041-\u30fa]")

Draft: TypeAlias = Good[Record] | Bad | Left
Price: TypeAlias = tuple[float, float]
"""USD per million tokens, in and out."""


class Item(NamedTuple):
    """One record to generate: its id, such as "set-timer-001", its topic, and the seed of its request."""

    id: str
    topic: Topic
    seed: int


@dataclass(frozen=True)
class GenerationPlan:
    """A plan of generation: record k has topic k, starting again after the last topic, and is asked for with seed + k.

    set: the name of the set, with which the ids begin; "": they begin with the topic.
    """

    n: int
    topics: tuple[Topic, ...]
    prompts: Prompts
    seed: int = 0
    set: str = ""

    @property
    def items(self) -> list[Item]:
        """Every record, in order: the first topic of each name, then the second, so even few records are varied."""
        numbers: Counter[str] = Counter()
        nth: list[tuple[int, Topic]] = []
        for topic in self.topics:
            numbers[topic.name] += 1
            nth.append((numbers[topic.name], topic))
        order = [topic for _, topic in sorted(nth, key=lambda numbered: numbered[0])]
        numbers.clear()
        items = []
        for index in range(self.n):
            topic = order[index % len(order)]
            numbers[topic.name] += 1
            name = "-".join(filter(None, (_for_files(self.set), _for_files(topic.name) or "topic")))
            items.append(Item(f"{name}-{numbers[topic.name]:03d}", topic, self.seed + index))
        return items

    def settings(self, model: Model) -> dict[str, Any]:
        """Everything that decides the records except how many there are, as JSON values.

        vendor: whose server it is; "" for one of one's own, which may have another address in the next job.
        """
        told = json.dumps(self.topics, ensure_ascii=False)
        return {
            "model": model.name,
            "server": model.describe().get("server"),
            "vendor": model.describe().get("vendor"),
            "seed": self.seed,
            "locale": self.prompts.locale,
            "topics": hashlib.sha256(told.encode()).hexdigest()[:16],
            "prompts": self.prompts.generation_hash,
            "acts": self.prompts.acts_hash,
            "most_asked": MOST_ASKED,
            "near_duplicate": NEAR_DUPLICATE,
        }


def _for_files(name: str) -> str:
    return re.sub(r"[^\w]+", "-", name).strip("-")


@dataclass
class GenerationProgress:
    """Progress of a generation. settled: the item that was settled last, and its result."""

    plan: GenerationPlan
    records: list[Record]
    dropped: list[Mapping[str, Any]]
    left: dict[str, str]
    usage: Usage
    settled: tuple[Item, Draft] | None = None

    @property
    def ended(self) -> int:
        """The number of items with a final result."""
        return len(self.records) + len(self.dropped)


def generate(
    plan: GenerationPlan,
    model: Model,
    folder: Path,
    jobs: int = 1,
    price: Price | None = None,
    watch: Callable[[GenerationProgress], None] = lambda progress: None,
) -> GenerationProgress:
    """Generate what the folder does not have yet, and write it; the same call continues where an earlier one ended.

    The result does not depend on `jobs`, as far as the model's answers do not. watch: called after each item. Raises
    SettingsError if the folder holds something else, or was begun with other settings or more records; PartyError if
    the model cannot be reached. After an error or an interruption, the files hold what exists so far; without any
    reply, there are no files.
    """
    settings = plan.settings(model)
    plan = replace(plan, set=_set_name(folder))
    _check_folder(folder, settings, plan.n)
    with KeptModel(model, folder / REPLIES) as kept:
        progress = GenerationProgress(plan, [], [], {}, kept.usage)
        if not ((folder / GENERATED).is_file() and _has_replies(folder)):
            write_json(folder / GENERATED, _summary(settings, progress, model, price))
        try:
            with closing(_settled(plan, kept, jobs)) as settled:
                for item, draft in settled:
                    _count(progress, item, draft)
                    progress.usage = kept.usage
                    watch(progress)
        finally:
            progress.usage = kept.usage
            if _has_replies(folder):
                _write(folder, settings, progress, model, price)
            else:  # not even settings, which can then still be changed
                for name in (RECORDS, DROPPED, GENERATED, REPLIES):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):  # not empty: it holds prompts, perhaps
                    folder.rmdir()
    return progress


def _set_name(folder: Path) -> str:
    """The name that the ids of a folder's set begin with, also where the folder has been renamed since."""
    known = read_json(folder / GENERATED) if (folder / GENERATED).is_file() and _has_replies(folder) else None
    return str(known.get("set", "")) if isinstance(known, dict) else folder.resolve().name


def cost_usd(usage: Usage, price: Price) -> float:
    """The cost of the replies at `price` in USD per million tokens, in and out."""
    return (usage.tokens_in * price[0] + usage.tokens_out * price[1]) / 1e6


def _settled(plan: GenerationPlan, model: Model, jobs: int) -> Generator[tuple[Item, Draft]]:
    """Every item and its draft, in order. What counts as a near-duplicate depends only on this order."""
    seen = SeenRequests()
    for number, example in enumerate(plan.prompts.examples, 1):
        seen.add(f"example {number}", example["input"]["text"])
    items = plan.items
    tasks = [partial(_draft, plan.prompts, model, item) for item in items]
    with closing(in_order(tasks, jobs)) as drafts:
        for item, draft in zip(items, drafts, strict=True):
            if isinstance(draft, Good):
                draft = _unlike(seen, plan.prompts, model, item, draft)
            if isinstance(draft, Good):
                seen.add(item.id, draft.item.user_text)
            yield item, draft


def _draft(prompts: Prompts, model: Model, item: Item, last: Bad | None = None) -> Good[Record] | Bad:
    def check(answer: str) -> Record:
        return check_record(answer, item.id, item.topic.name, model.name, prompts.locale, prompts.tags)

    return ask_for(model, prompts, prompts.record_request(item.topic, item.seed), check, last)


def _unlike(seen: "SeenRequests", prompts: Prompts, model: Model, item: Item, draft: Good[Record]) -> Draft:
    """`draft`, or another one that is no near-duplicate of an earlier request."""
    while True:
        try:
            seen.check(draft.item.user_text)
            return draft
        except InputError as error:
            last = Bad(str(error), draft.text, draft.asked)
        try:
            another = _draft(prompts, model, item, last)
        except PartyError as error:
            if not error.transient:
                raise
            return Left(str(error))
        if isinstance(another, Bad):
            return another
        draft = another


def _count(progress: GenerationProgress, item: Item, draft: Draft) -> None:
    progress.settled = item, draft
    if isinstance(draft, Good):
        progress.records.append(draft.item)
    elif isinstance(draft, Left):
        progress.left[item.id] = draft.reason
    else:
        about = {"id": item.id, "topic": item.topic.name, "instruction": item.topic.instruction}
        why = {"asked": draft.asked, "refused": draft.refused, "reason": draft.reason, "answer": draft.text}
        progress.dropped.append(about | why)


def _check_folder(folder: Path, settings: Mapping[str, Any], n: int) -> None:
    """SettingsError if the folder has something else, or replies from other settings or for more records."""
    if not (folder / GENERATED).is_file():
        if folder.exists() and (
            not folder.is_dir() or {item.name for item in folder.iterdir()} - {REPLIES, f"{GENERATED}.part"}
        ):
            raise SettingsError(f"{folder}: expected a new folder or that of a generated set, got something else")
        return
    there = generated(folder)
    if not _has_replies(folder):
        return
    for name, value in settings.items():
        if name != "server" and there["settings"].get(name, value) != value:  # older sets lack some
            what = f"{name} {there['settings'][name]!r} there, {value!r} here"
            raise SettingsError(f"{folder}: expected the settings that it was begun with, got others: {what}")
    if n < there["n"]:
        raise SettingsError(f"{folder}: expected at least the {there['n']} records that it was begun with, got {n}")


def _has_replies(folder: Path) -> bool:
    path = folder / REPLIES
    return path.is_file() and path.stat().st_size > 0


def _write(
    folder: Path, settings: Mapping[str, Any], progress: GenerationProgress, model: Model, price: Price | None
) -> None:
    """Write the results. Records that are complete are not written again, since people may have edited them."""
    for name, text in progress.plan.prompts.own.items():
        write_text(part_of(folder, PROMPTS, name), text)
    was = generated(folder)
    if not (was.get("complete") and was["n"] == progress.plan.n and (folder / RECORDS).is_file()):
        write_text(folder / RECORDS, jsonl(progress.records))
        lines = (json.dumps(clean(dropped), ensure_ascii=False) for dropped in progress.dropped)
        write_text(folder / DROPPED, "".join(f"{line}\n" for line in lines))
    write_json(folder / GENERATED, _summary(settings, progress, model, price))


def _summary(
    settings: Mapping[str, Any], progress: GenerationProgress, model: Model, price: Price | None
) -> dict[str, Any]:
    refused = sum(dropped["refused"] for dropped in progress.dropped)
    scaled = {
        record.id: annotation.scaled_from
        for record in progress.records
        if (annotation := record.references[0].annotation).scaled_from is not None
    }
    cost = None if price is None else {"usd_per_million": list(price), "usd": cost_usd(progress.usage, price)}
    return {
        "schema": GENERATED_SCHEMA,
        "settings": settings,
        "set": progress.plan.set,
        "n": progress.plan.n,
        "complete": progress.ended == progress.plan.n,
        "records": len(progress.records),
        "scaled": scaled,
        "dropped": {"refused": refused, "unusable": len(progress.dropped) - refused},
        "left": progress.left,
        "usage": asdict(progress.usage),
        "cost": cost,
        "model": model.describe(),
        "versions": installed_versions(),
    }


def check_record(
    text: str, item_id: str, topic: str, generator: str, locale: str, tags: TagSet | None = None
) -> Record:
    """The record in a model's answer, with importances that sum to 1. InputError says what is wrong with it.

    Expected: the four KEYS; texts; known acts with importances in [0, 1) (1 for a single act) that sum to 1 within
    SUM_TOLERANCE (tags: None for the acts of the paper); one turn of each side; and Japanese text for a Japanese
    `locale`.
    """
    value = parse_json(text)
    if not isinstance(value, Mapping) or set(value) != set(KEYS):
        found = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise InputError(f"expected an object with the keys {', '.join(KEYS)}, got {found}")
    record = Record.from_json({"id": item_id, "topic": topic, "generator": generator, **value}, tags=tags)
    if record.locale != locale:
        raise InputError(f"input.locale: expected {locale}, got {record.locale}")
    for part, role in (("input", "USER"), ("output", "ASSISTANT")):
        if value[part].get("role", role) != role:
            raise InputError(f"{part}.role: expected {role}, got {value[part]['role']}")
    steps = record.references[0].annotation.steps
    for number, step in enumerate(steps):
        if len(steps) > 1 and step.importance >= 1:
            raise InputError(f"act {number}: expected an importance from 0 to below 1, got {step.importance:g}")
    texts = {
        "scenario_context.background": record.background,
        "input.text": record.user_text,
        "output.text": record.references[0].text,
    }
    for name, words in texts.items():
        if name != "scenario_context.background" and _SPEAKER.search(words):
            raise InputError(f"{name}: expected the words of a single turn, got several with their speakers")
        if locale.partition("-")[0] == "ja":
            _check_japanese(name, words)
    return record


def _check_japanese(name: str, text: str) -> None:
    letters = sum(character.isalpha() for character in text)
    share = len(_JAPANESE.findall(text)) / max(1, letters)
    if share < JAPANESE_SHARE or (name != "input.text" and not _KANA.search(text)):
        raise InputError(f"{name}: expected Japanese, got {text[:40]!r}")


class SeenRequests:
    """The users' requests so far, to find near-duplicates."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, str, int]] = []  # name, words, how many bigrams
        self._with: defaultdict[str, list[int]] = defaultdict(list)  # bigram: which of the seen have it

    def check(self, text: str) -> None:
        """InputError if `text` is a near-duplicate of a request that was added; it names the nearest one."""
        grams = _bigrams(text)
        shared = Counter(index for gram in grams for index in self._with.get(gram, ()))
        scores = {index: count / (len(grams) + self._seen[index][2] - count) for index, count in shared.items()}
        nearest = max(scores, key=lambda index: (scores[index], -index), default=None)
        if nearest is not None and scores[nearest] >= NEAR_DUPLICATE:
            name, words, _ = self._seen[nearest]
            told = f"{name} ({words!r}; {scores[nearest]:.2f} of the character bigrams are in both)"
            raise InputError(f"input.text: expected another request than that of {told}")

    def add(self, name: str, text: str) -> None:
        """Add the request of record `name`."""
        grams = _bigrams(text)
        for gram in grams:
            self._with[gram].append(len(self._seen))
        self._seen.append((name, text, len(grams)))


def _bigrams(text: str) -> frozenset[str]:
    """The bigrams of letters and digits alone, without differences of width and case, which sound the same."""
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))
    return frozenset(letters[start : start + 2] for start in range(max(1, len(letters) - 1)))
