"""A sample of v1 or v1.5: its task, and where in the user's audio its labels lie.

    v1    GROUP/ID/input.wav    with pause.json, turn_taking.json or interrupt.json: [{"text", "timestamp": [s, s]}]
    v1.5  GROUP/ID/input.wav, clean_input.wav    with metadata.json: {"timestamps": [s, s]}: the overlap

The group's name says the task; in v1 the labels do where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, TypeAlias

from fdbcore.errors import InputError
from fdbcore.recording import Label, LabelKind
from fdbcore.sources import CLEAN_INPUT, labelled_span
from fdbcore.types import TICKS_PER_S, Clip

Version: TypeAlias = Literal["fdb-v1", "fdb-v1.5"]
V1: Final[Version] = "fdb-v1"
V15: Final[Version] = "fdb-v1.5"

PAUSE, BACKCHANNEL, TURN_TAKING, INTERRUPTION = (
    "pause handling", "backchannel", "smooth turn-taking", "user interruption",
)  # fmt: skip
USER_BACKCHANNEL, TALKING_TO_OTHER, BACKGROUND = "user backchannel", "talking to other", "background speech"

NAMES: Final[Mapping[Version, Mapping[str, str]]] = {
    V1: {"pause": PAUSE, "backchannel": BACKCHANNEL, "turn.?taking": TURN_TAKING, "interrupt": INTERRUPTION},
    V15: {
        "interrupt": INTERRUPTION,
        "backchannel": USER_BACKCHANNEL,
        "talking|to.?other|side": TALKING_TO_OTHER,
        "background|ambient": BACKGROUND,
    },
}
"""What the name of a group has, as a regular expression, and the task that it then is."""
FILES: Final = {"pause": PAUSE, "turn_taking": TURN_TAKING, "interrupt": INTERRUPTION}
"""The files of labels that say the task of v1."""
KINDS: Final[Mapping[str, LabelKind]] = {
    PAUSE: "pause",
    INTERRUPTION: "interruption",
    USER_BACKCHANNEL: "backchannel",
    TALKING_TO_OTHER: "side_talk",
    BACKGROUND: "noise",
}
"""The labels of the spans of a task."""


def conditions_of(version: Version) -> list[str]:
    """The conditions in the order of tables."""
    return [name for task in NAMES[version].values() for name in (task, f"{task}, clean")]


@dataclass(frozen=True, slots=True)
class UserSample:
    """A recorded user. name: unique in its data; a clean one (v1.5) has the id of its overlapped one.

    spans: the labelled ones in s: pauses, the annotated interval, the interruption, the overlap; those of a clean
    sample are where its overlap would be. texts: what each label says that was said, by its keys.
    """

    name: str
    id: str
    group: str
    task: str
    is_clean: bool
    spans: Sequence[tuple[float, float]]
    texts: Sequence[Mapping[str, str]]

    @property
    def condition(self) -> str:
        """The task; of v1.5 whether the user was disturbed, too."""
        return f"{self.task}, clean" if self.is_clean else self.task

    @property
    def labels(self) -> list[Label]:
        """The spans as labels of a call. A clean sample has none: nobody disturbed the system."""
        found = []
        for start_s, end_s in () if self.is_clean else self.spans:
            if self.task in KINDS:
                found.append(Label("A", KINDS[self.task], start_s, end_s))
            if self.task in (TURN_TAKING, INTERRUPTION):
                at_s = start_s if self.task == TURN_TAKING else end_s
                found.append(Label("A", "turn_end", at_s, at_s))
        return found

    def within(self, n_ticks: int) -> tuple[Self, str]:
        """The sample with the labels that begin within so many ticks, each once and cut there; and which others are
        left out, counted once or cut, "" if none are.

        A clean sample keeps its own. InputError if there are labels, but none is left.
        """
        if self.is_clean:
            return self, ""
        told = []
        length_s = n_ticks / TICKS_PER_S
        texts: dict[tuple[float, float], Mapping[str, str]] = {}
        for span, text in zip(self.spans, self.texts, strict=True):
            texts.setdefault(span, text)
        if again := [span for number, span in enumerate(self.spans) if span in self.spans[:number]]:
            told.append(f"expected each label once, got {_listed(again)} again, counted once")
        if beyond := [span for span in texts if in_ticks(span)[0] >= n_ticks]:
            why = f"expected labels that begin within its {length_s:.1f} s, got {_listed(beyond)}"
            if len(beyond) == len(texts):
                raise InputError(why)
            told.append(f"{why}, left out")
        inside = [span for span in texts if span not in beyond]
        if too_long := [span for span in inside if in_ticks(span)[1] > n_ticks]:
            told.append(f"expected labels that end within its {length_s:.2f} s, got {_listed(too_long)}, cut there")
        cut = [(start_s, length_s if (start_s, end_s) in too_long else end_s) for start_s, end_s in inside]
        return replace(self, spans=cut, texts=[texts[span] for span in inside]), "; ".join(told)


def sample_of(version: Version, clip: Clip) -> UserSample:
    """The sample that a clip is. InputError if it is one of the other version, if its task is not known, or if its
    labels cannot be used.
    """
    is_clean, where = clip.path.name == CLEAN_INPUT, clip.path.parent
    says = {V1: any(file in clip.labels for file in FILES), V15: is_clean or "metadata" in clip.labels}
    other = V15 if version == V1 else V1
    if says[other] and not says[version]:
        raise InputError(f"{where}: expected a sample of {version}, got one of {other}: --suite {other}")
    task = _task(version, clip)
    if version == V1:
        file = next((file for file, of in FILES.items() if of == task), "")
        notes = clip.labels.get(file, [])
        if not isinstance(notes, Sequence) or not all(isinstance(note, Mapping) for note in notes):
            raise InputError(f"{where}: expected a list of labels in {file}.json, got something else")
        if file and not notes:
            raise InputError(f"{where}: expected labels in {file}.json, found none")
        given = [(note.get("timestamp"), note) for note in notes]
    elif "metadata" not in clip.labels:
        raise InputError(f"{where}: expected metadata.json, found none")
    else:
        file, note = "metadata", clip.labels["metadata"]
        if not isinstance(note, Mapping):
            raise InputError(f"{where}: expected an object in metadata.json, got something else")
        at = note.get("timestamps", note.get("timestamp"))
        is_list = isinstance(at, Sequence) and at and isinstance(at[0], Sequence)
        given = [(at[0] if is_list else at, note)]
    try:
        spans = [labelled_span(at) for at, _ in given]
    except InputError as error:
        raise InputError(f"{where}: {file}.json: {error}") from None
    texts = [{key: value for key, value in note.items() if isinstance(value, str)} for _, note in given]
    name = clip.name.removesuffix("-clean") if is_clean else clip.name
    return UserSample(clip.name, name, clip.group, task, is_clean, spans, texts)


def task_of(version: Version, group: str) -> str | None:
    """The task that the name of a folder says; None if it says none."""
    named = (task for pattern, task in NAMES[version].items() if re.search(pattern, group, re.IGNORECASE))
    return next(named, None)


def _task(version: Version, clip: Clip) -> str:
    group = clip.group.rpartition("/")[2]
    if (named := task_of(version, group)) is not None:
        return named
    by_labels = [task for file, task in FILES.items() if file in clip.labels] if version == V1 else []
    if len(by_labels) == 1:
        return by_labels[0]
    words = ", ".join(NAMES[version].values())
    raise InputError(f"{clip.path}: expected a folder whose name says its task ({words}), got {group!r}")


def _listed(spans_s: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{start_s:g} to {end_s:g} s" for start_s, end_s in spans_s)


def in_ticks(span_s: tuple[float, float]) -> tuple[int, int]:
    """A span in ticks."""
    return round(span_s[0] * TICKS_PER_S), round(span_s[1] * TICKS_PER_S)
