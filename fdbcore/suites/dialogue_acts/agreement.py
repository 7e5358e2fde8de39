"""Agreement of two annotators of the acts of replies, be they people or models, reply by reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from msgspec import to_builtins

from fdbcore.errors import InputError, SettingsError
from fdbcore.report import NAME_COLUMNS, ColumnGroup, agreement_screen, estimates, fitted, table, wrapped
from fdbcore.results import AgreementFigure, ProblemEntry, problem_entries
from fdbcore.runtime import parsed_json, read_whole
from fdbcore.stats import RESAMPLES, Statistic, bootstrap_ci, kappa, mean, ratio_of_sums
from fdbcore.suites.dialogue_acts.models.prompts import folder_of
from fdbcore.suites.dialogue_acts.ratings import holds_ratings, rating_agreement, ratings_screen
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Response, read_records, read_responses
from fdbcore.suites.dialogue_acts.scoring.alignment import UNITS_PER_WEIGHT, ActAlignments, PackedActs
from fdbcore.suites.dialogue_acts.scoring.scores import Floats, packed, score_pairs
from fdbcore.suites.dialogue_acts.sets import prompts_in
from fdbcore.suites.dialogue_acts.tag_sets import NO_ACT, TagSet, tags_in
from fdbcore.types import Problem

AGREEMENT_SCHEMA: Final = "fdbcore.agreement/1"
NAMES: Final = {
    "identical": "identical acts",
    "kappa": "kappa of acts",
    "wed": "WED",
    "wlcs_a": "WLCS, of the first",
    "wlcs_b": "WLCS, of the second",
    "importance_difference": "importance apart",
}
"""The measures, as the screen shows them."""
LEGEND: Final = (
    "identical acts: share of replies with the same acts in the same order. kappa: of acts as the cheapest script "
    "pairs them, 'none' for one that only one has. WED: mean distance. WLCS: share of the weight that one gives to "
    "acts which the other has too, in that order. importance apart: mean, of acts that both have."
)
SUFFIX: Final = ".jsonl"
LETTERS: Final = 4  # of the name of an act above its column

Key: TypeAlias = tuple[str, str, int]  # id, system, repeat


class ActsAgreement(TypedDict):
    """The agreement of two annotators on the acts of the same replies."""

    schema: Literal["fdbcore.agreement/1"]
    annotators: list[str]
    n: int
    replies: int
    records: int
    measures: dict[str, AgreementFigure]
    acts: list[str]
    confusion: list[list[int]]
    problems: list[ProblemEntry]


class Labelled(NamedTuple):
    """One reply with what one annotator sees in it."""

    where: str
    text: str
    annotation: Annotation


def holds_labels(path: Path) -> bool:
    """True if it is a file of responses or records, by its suffix, or a table of ratings."""
    return path.suffix == SUFFIX or holds_ratings(path)


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """The agreement of two annotators, by their files of responses or records; or of people with scores, by ratings."""
    if any(map(holds_ratings, paths)):
        rated = to_builtins(rating_agreement(paths, show))
        return rated, ratings_screen(rated, width)
    if len(paths) != 2 or any(path.suffix != SUFFIX for path in paths):
        raise SettingsError(f"expected two {SUFFIX} files of dialogue acts, got {', '.join(map(str, paths))}")
    tags = tags_in(folder_of(options["prompts"]) or prompts_in(paths[0].parent))
    a, problems_a = read_labels(paths[0], options["a"], options["as_given"], tags)
    b, problems_b = read_labels(paths[1], options["b"], options["as_given"], tags)
    content = to_builtins(agreement(a, b, [*problems_a, *problems_b], tags=tags.without_credit))
    return content, acts_screen(content, width)


def read_labels(
    path: Path, annotator: str | None = None, as_given: bool = False, tags: TagSet | None = None
) -> tuple[dict[Key, Labelled], list[Problem]]:
    """The annotations in a file of responses, or in a file of records: those of their first references.

    annotator: whose annotations to read; in records, the annotator has the name of the file, and the system is
    `reference`. tags: None for the acts of the paper. Raises SettingsError if the file has none by this annotator, or
    if it has several annotators and none is chosen.
    """
    responses, problems = _responses(path, as_given, tags)
    chosen = _chosen(responses, annotator, path)
    return {
        (response.id, response.system, one.repeat): Labelled(response.where, response.text, one)
        for response in responses
        for one in response.annotations
        if one.annotator == chosen and response.text is not None
    }, problems


def _chosen(responses: Sequence[Response], annotator: str | None, path: Path) -> str:
    there = list(dict.fromkeys(one.annotator for response in responses for one in response.annotations))
    if annotator in there:
        return str(annotator)
    if annotator is None and len(there) == 1:
        return there[0]
    wanted = "one annotator" if annotator is None else f"annotations of {annotator}"
    raise SettingsError(f"{path}: expected {wanted}, got those of {', '.join(there) or 'nobody'}")


def _responses(path: Path, as_given: bool, tags: TagSet | None) -> tuple[list[Response], list[Problem]]:
    if _holds_responses(path):
        return read_responses(path, as_given, tags)
    records, problems = read_records(path, as_given, tags)
    responses = []
    for record in records:
        reference = record.references[0]
        annotation = replace(reference.annotation, annotator=path.stem)
        responses.append(Response(record.id, REFERENCE, reference.text, (annotation,), where=record.where))
    return responses, problems


def _holds_responses(path: Path) -> bool:
    """True if the first line that is JSON names a system, as lines of responses do."""
    try:
        lines = read_whole(path).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return True  # whose reader says what is wrong
    for line in lines:
        try:
            return "system" in parsed_json(line)
        except (ValueError, TypeError):
            continue
    return True


def agreement(
    a: Mapping[Key, Labelled],
    b: Mapping[Key, Labelled],
    problems: Sequence[Problem] = (),
    resamples: int = RESAMPLES,
    tags: TagSet | None = None,
) -> ActsAgreement:
    """The agreement of two annotators on the replies that both labelled.

    `wed`: the mean distance; it is the same in both directions. `wlcs_a`, `wlcs_b`: the share of each annotator's
    weight that lies in a common subsequence. `identical`: the share of replies with the same acts in the same order.
    `kappa`: Cohen's kappa of the acts as the cheapest script of WED pairs them; an act that only one annotator has is
    paired with `none`. As that script seeks agreement, kappa is higher here than for labels of spans that are fixed
    beforehand. `importance_difference`: the mean absolute difference of the importances of matched acts. `confusion`:
    counts, [a][b]. Intervals resample records. tags: None for the acts of the paper.
    """
    keys, alone = _common(a, b)
    if not keys:
        raise InputError("expected replies that both have labelled, got none")
    sides = [[labels[key].annotation.sequence for key in keys] for labels in (a, b)]
    scores, alignments = score_pairs(packed(sides[0], "given", tags), packed(sides[1], "given", tags))
    confusions, gaps = paired_acts(alignments)
    same = [[act for act, _ in left] == [act for act, _ in right] for left, right in zip(*sides, strict=True)]
    ids, side = np.array([key[0] for key in keys]), len(alignments.references.tags.names) + 1
    measured: dict[str, tuple[Floats, Statistic]] = {
        "wed": (scores[:, 1], mean),
        "wlcs_a": (scores[:, 5], mean),
        "wlcs_b": (scores[:, 0], mean),
        "identical": (np.array(same, dtype=np.float64), mean),
        "kappa": (confusions, kappa),
        "importance_difference": (gaps, ratio_of_sums),
    }
    return {
        "schema": AGREEMENT_SCHEMA,
        "annotators": [labels[keys[0]].annotation.annotator for labels in (a, b)],
        "n": len(keys),
        "replies": len({key[:2] for key in keys}),
        "records": len(set(ids.tolist())),
        "measures": {
            name: AgreementFigure.of(bootstrap_ci(values, ids, statistic, resamples=resamples))
            for name, (values, statistic) in measured.items()
        },
        "acts": [*alignments.references.tags.names, NO_ACT],
        "confusion": confusions.sum(axis=0).astype(int).reshape(side, side).tolist(),
        "problems": problem_entries(dict.fromkeys((*problems, *alone))),
    }


def _common(a: Mapping[Key, Labelled], b: Mapping[Key, Labelled]) -> tuple[list[Key], list[Problem]]:
    """The replies that both labelled, and those left out because the other has none or another text."""
    keys, problems = [], []
    for key, label in a.items():
        if key not in b:
            problems.append(Problem(label.where, f"only the first has {_reply(key)}"))
        elif b[key].text != label.text:
            problems.append(Problem(label.where, f"expected the same reply in both, got two texts of {_reply(key)}"))
        else:
            keys.append(key)
    alone = [Problem(label.where, f"only the second has {_reply(key)}") for key, label in b.items() if key not in a]
    return keys, problems + alone


def _reply(key: Key) -> str:
    id, system, repeat = key
    return f"the reply of {system} to {id}" + (f", annotation {repeat}" if repeat > 1 else "")


def paired_acts(alignments: ActAlignments) -> tuple[Floats, Floats]:
    """Counts of each act of the first with each act of the second: (replies, n²), row by row of (n, n).

    n: how many acts there are, and one for none. And the summed absolute difference of importance of matched acts, and
    how many acts match: (replies, 2).
    """
    none = len(alignments.references.tags.names)
    counts, gaps = np.zeros((len(alignments), (none + 1) ** 2)), np.zeros((len(alignments), 2))
    for reply, alignment in enumerate(alignments):
        left, right = (_acts_of(side, reply) for side in (alignments.references, alignments.predictions))
        for step in alignment.path:
            code_a, weight_a = (none, 0) if step.reference_index is None else left[step.reference_index]
            code_b, weight_b = (none, 0) if step.prediction_index is None else right[step.prediction_index]
            counts[reply, (none + 1) * code_a + code_b] += 1
            if code_a == code_b:
                gaps[reply] += abs(weight_a - weight_b) / UNITS_PER_WEIGHT, 1
    return counts, gaps


def _acts_of(side: PackedActs, reply: int) -> list[tuple[int, int]]:
    """The code and the weight of each act of a reply."""
    start, end = side.offsets[reply : reply + 2].tolist()
    return list(zip(side.acts[start:end].tolist(), side.weights[start:end].tolist(), strict=True))


def acts_screen(content: Mapping[str, Any], width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    often = f" ({content['n']} annotations by each)" if content["n"] != content["replies"] else ""
    names = " and ".join(fitted(name, NAME_COLUMNS) for name in content["annotators"])
    head = f"{names}: {content['replies']} replies to {content['records']} records labelled by both{often}"
    measured = [content["measures"][name] for name in NAMES]
    n = ColumnGroup("", ["n"], [5], [[str(content["n"])] for _ in measured])
    measures = table(list(NAMES.values()), [n, estimates("", measured)], width)
    blocks = [wrapped(head, width, 2), measures, _confusion(content, width), wrapped(LEGEND, width)]
    return agreement_screen(content, (), blocks, width)


def _confusion(content: Mapping[str, Any], width: int) -> list[str]:
    """The counts: a row for each act of the first annotator, a column for each act of the second."""
    cells = [[str(count) if count else "." for count in row] for row in content["confusion"]]
    widths = [max(LETTERS, *(len(row[k]) for row in cells)) for k in range(len(cells))]
    heads = ["ChkQ" if act == "Check-Question" else act[:LETTERS] for act in content["acts"]]
    groups = [ColumnGroup("", [], [], [[] for _ in cells]), ColumnGroup("acts of the second", heads, widths, cells)]
    return ["acts of the first, in rows", *table(content["acts"], groups, width)]
