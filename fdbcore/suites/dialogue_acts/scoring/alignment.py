"""Dialogue acts: how well the content of a reply, as a sequence of weighted acts, matches a reference.

The measures are those of Watanabe, Mizumoto, Suto and Kawahara, "応答内容・順序に着目した音声対話ベンチマークの構築",
sections 3.2 and 4.1. An act sequence is an ordered list of `(act, importance)`; the importances should sum to 1.

Internally, importances are integers in units of 1e-12 (rounded half to even), and costs are integers in units of
0.5e-12. So equal costs are exactly equal, and ties are decided in the same way on every machine.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from fdbcore._ext.align import FACTOR_ONE, OPERATIONS, align_range
from fdbcore.errors import ActError
from fdbcore.suites.dialogue_acts.tag_sets import TagSet, paper_acts

Act: TypeAlias = Literal["Question", "Check-Question", "Answer", "Inform", "Request", "Suggestion", "Commissive"]
ACTS: Final[tuple[Act, ...]] = get_args(Act)
"""The seven acts of the paper, which count where no tag set is named."""

ActSequence: TypeAlias = Sequence[tuple[str, float]]
Scores: TypeAlias = npt.NDArray[np.float64]
Array: TypeAlias = npt.NDArray[Any]
Operation: TypeAlias = Literal["match", "substitution", "deletion", "insertion"]

UNITS_PER_WEIGHT: Final = 10**12
MAX_ACTS: Final = 1024  # with MAX_IMPORTANCE: the costs of a pair fit in int64, its table in 9 MB
MAX_IMPORTANCE: Final = 1000.0
SUM_TOLERANCE: Final = 1e-6

_UNITS_PER_SCORE: Final = np.array([1, 2, 2, 2, 2], dtype=np.float64) * UNITS_PER_WEIGHT
_PAIRS_PER_RANGE: Final = 8192


class ActWarning(UserWarning):
    """The importances of an act sequence do not sum to 1: they are used as they are, so scores are on another scale."""


@final
class PackedActs:
    """Many act sequences, checked and stored end to end in read-only arrays, ready to be aligned again and again.

    Sequence k is acts[offsets[k]:offsets[k + 1]] with its weights; `len()` is the number of sequences. acts: int8,
    positions in the names of `tags`. weights: int64, importances in units of 1e-12. offsets: int64, from 0.
    """

    __slots__ = ("acts", "offsets", "tags", "weights")

    def __init__(
        self,
        acts: npt.ArrayLike,
        importances: npt.ArrayLike,
        offsets: npt.ArrayLike,
        name: str = "sequence",
        tags: TagSet | None = None,
    ) -> None:
        """Check and store act codes, importances (from 0 to 1000) and offsets (one more than there are sequences).

        name: what errors call a sequence ("prediction 3, act 0: ..."). tags: None for the acts of the paper. Raises
        ActError for the first bad item; warns (ActWarning) if importances do not sum to 1 within 1e-6. An empty
        sequence is not checked for its sum.
        """
        codes, values, bounds = np.asarray(acts), np.asarray(importances), np.asarray(offsets)
        _check_layout(codes, values, bounds, name)
        self.tags = tags or paper_acts()
        _check_items(codes, values, bounds, name, len(self.tags.names))
        self.acts = codes.astype(np.int8)
        self.weights = np.rint(values.astype(np.float64) * UNITS_PER_WEIGHT).astype(np.int64)
        self.offsets = bounds.astype(np.int64)
        for array in (self.acts, self.weights, self.offsets):
            array.flags.writeable = False
        _warn_of_sums(self.weights, self.offsets, name)

    def __len__(self) -> int:
        return len(self.offsets) - 1


class AlignmentStep(Struct, frozen=True):
    """One step of the script that turns the prediction into the reference; without an act, its index is None."""

    operation: Operation
    reference_index: int | None
    prediction_index: int | None
    cost: float


@dataclass(frozen=True, slots=True)
class ActAlignment:
    """The match of one prediction with its reference.

    weighted_lcs: the greatest importance, on the prediction's side, of a common subsequence of labels (section 4.1.1).
    wed: weighted dialogue-act edit distance (section 4.1.2), the sum of deletion, insertion and substitution; lower is
    better. path: the cheapest script, in order. Its matches can weigh less than weighted_lcs, which is maximised on its
    own.
    """

    weighted_lcs: float
    wed: float
    deletion: float
    insertion: float
    substitution: float
    path: tuple[AlignmentStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ActAlignments:
    """The scores of many pairs: float64 arrays (pairs,), named as in ActAlignment. `[k]` is pair k with its path.

    The steps of pair k are operations[path_starts[k]:references.offsets[k + 1] + predictions.offsets[k + 1]], int8
    positions in ("match", "substitution", "deletion", "insertion"). The values between two paths are undefined.
    """

    weighted_lcs: Scores
    wed: Scores
    deletion: Scores
    insertion: Scores
    substitution: Scores
    references: PackedActs
    predictions: PackedActs
    operations: npt.NDArray[np.int8]
    path_starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.path_starts)

    def __iter__(self) -> Iterator[ActAlignment]:
        return (self[pair] for pair in range(len(self)))

    def __getitem__(self, pair: int) -> ActAlignment:
        return ActAlignment(
            weighted_lcs=float(self.weighted_lcs[pair]),
            wed=float(self.wed[pair]),
            deletion=float(self.deletion[pair]),
            insertion=float(self.insertion[pair]),
            substitution=float(self.substitution[pair]),
            path=tuple(self._steps(range(len(self))[pair])),
        )

    def _steps(self, pair: int) -> Iterator[AlignmentStep]:
        factors = self.references.tags.factors
        start_i, end_i = self.predictions.offsets[pair : pair + 2].tolist()
        start_j, end_j = self.references.offsets[pair : pair + 2].tolist()
        deletions = self.predictions.weights[start_i:end_i].tolist()
        insertions = self.references.weights[start_j:end_j].tolist()
        i = j = 0
        for code in self.operations[self.path_starts[pair] : end_i + end_j].tolist():
            match OPERATIONS[code]:
                case "deletion":
                    yield AlignmentStep("deletion", None, i, deletions[i] / UNITS_PER_WEIGHT)
                    i += 1
                case "insertion":
                    yield AlignmentStep("insertion", j, None, insertions[j] / UNITS_PER_WEIGHT)
                    j += 1
                case "match":
                    yield AlignmentStep("match", j, i, 0.0)
                    i, j = i + 1, j + 1
                case "substitution":
                    both = deletions[i] + insertions[j]
                    if factors is not None:
                        share = int(factors[self.references.acts[start_j + j], self.predictions.acts[start_i + i]])
                        both = (both * share + FACTOR_ONE // 2) // FACTOR_ONE
                    yield AlignmentStep("substitution", j, i, both / (2 * UNITS_PER_WEIGHT))
                    i, j = i + 1, j + 1


def align_acts(reference: ActSequence, prediction: ActSequence, tags: TagSet | None = None) -> ActAlignment:
    """The weighted LCS of a prediction and its weighted edit distance (WED) to the reference, with the path.

    Deleting a predicted act costs its importance (it is redundant). Inserting an act of the reference costs its
    importance (it is missing). Substituting costs half the sum of both importances, or nothing if the acts are equal;
    `tags` may name other acts (see `fdbcore.suites.dialogue_acts.tag_sets`), and factors of this cost. Among scripts of
    equal cost, the steps are chosen from the end: first a match or substitution, then a deletion, then an insertion. If
    a sequence is empty, weighted LCS is 0 and WED is the sum of the other one. Raises ActError, which names the side
    and the act, for an unknown act or an importance that is not a number from 0 to 1000. Warns (ActWarning) if
    importances do not sum to 1.
    """
    return align_acts_batch(pack_acts([reference], "reference", tags), pack_acts([prediction], "prediction", tags))[0]


def align_acts_batch(references: PackedActs, predictions: PackedActs, threads: int | None = None) -> ActAlignments:
    """The scores of `align_acts` for every pair (references k, predictions k), computed on all cores without the GIL.

    The result does not depend on `threads` (default: one per core). Raises ActError if the two numbers, or the tag
    sets, differ.
    """
    pairs = len(references)
    if len(predictions) != pairs:
        raise ActError(f"predictions: expected one for each of {pairs} references, got {len(predictions)}")
    if references.tags != predictions.tags:
        raise ActError(f"predictions: expected the tag set {references.tags.name!r}, got {predictions.tags.name!r}")
    scores = np.empty((pairs, 5), dtype=np.float64)
    operations = np.empty(len(references.acts) + len(predictions.acts), dtype=np.int8)
    path_starts = np.empty(pairs, dtype=np.int64)

    def align(first: int) -> None:
        last = min(first + _PAIRS_PER_RANGE, pairs)
        units = np.empty((last - first, 5), dtype=np.int64)
        align_range(
            references.acts,
            references.weights,
            references.offsets,
            predictions.acts,
            predictions.weights,
            predictions.offsets,
            first,
            units,
            operations,
            path_starts,
            references.tags.factors,
        )
        np.divide(units, _UNITS_PER_SCORE, out=scores[first:last])

    _run(align, range(0, pairs, _PAIRS_PER_RANGE), threads)
    lcs, wed, deletion, insertion, substitution = scores.T
    return ActAlignments(lcs, wed, deletion, insertion, substitution, references, predictions, operations, path_starts)


def _run(work: Callable[[int], None], items: Sequence[int], threads: int | None) -> None:
    if len(items) <= 1:  # a thread takes longer to start than to align a few thousand pairs
        deque(map(work, items), maxlen=0)
        return
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        deque(pool.map(work, items), maxlen=0)


def pack_acts(sequences: Iterable[ActSequence], name: str = "sequence", tags: TagSet | None = None) -> PackedActs:
    """Pack act sequences for `align_acts_batch`; `name` ("reference", "prediction") is what errors call a sequence.

    tags: None for the acts of the paper. Raises ActError, which names the sequence and the act, for anything but an
    `(act, importance)` with one of these acts and a number from 0 to 1000. Warns (ActWarning) if importances do not sum
    to 1.
    """
    listed, tags = list(sequences), tags or paper_acts()
    codes: list[int] = []
    importances: list[float] = []
    offsets = [0]
    for sequence in listed:
        if not isinstance(sequence, Sequence):
            place = _place(name, len(listed), len(offsets) - 1)
            raise ActError(f"{place}: expected a list of (act, importance), got {sequence!r}")
        for item in sequence:
            try:
                code, importance = _parse(item, tags)
            except ActError as error:
                place = _place(name, len(listed), len(offsets) - 1, len(codes) - offsets[-1])
                raise ActError(f"{place}: {error}") from None
            codes.append(code)
            importances.append(importance)
        offsets.append(len(codes))
    return PackedActs(np.array(codes, dtype=np.int8), np.array(importances, dtype=np.float64), offsets, name, tags)


def _parse(item: object, tags: TagSet) -> tuple[int, float]:
    match item:
        case (str(act), int() | float() as importance) if not isinstance(importance, bool):
            if act not in tags.codes:
                raise ActError(f"unknown act {act!r}: expected one of {', '.join(tags.names)}")
            if 0 <= importance <= MAX_IMPORTANCE:
                return tags.codes[act], float(importance)
    raise ActError(f"expected (act, importance from 0 to {MAX_IMPORTANCE:g}), got {item!r}")


def _place(name: str, sequences: int, sequence: int, position: int | None = None) -> str:
    """The name in messages of a sequence or one of its acts; a single sequence has no number."""
    numbered = f"{name} {sequence}" if sequences > 1 else name
    return numbered if position is None else f"{numbered}, act {position}"


def _check_layout(acts: Array, importances: Array, offsets: Array, name: str) -> None:
    if acts.ndim != 1 or importances.shape != acts.shape or offsets.ndim != 1:
        shapes = f"{acts.shape}, {importances.shape} and {offsets.shape}"
        raise ActError(f"{name}: expected acts (n,), importances (n,) and offsets, got {shapes}")
    if acts.dtype.kind not in "iu" or importances.dtype.kind not in "iuf" or offsets.dtype.kind not in "iu":
        types = f"{acts.dtype}, {importances.dtype} and {offsets.dtype}"
        raise ActError(f"{name}: expected acts and offsets as integers, importances as numbers, got {types}")
    lengths = np.diff(offsets.astype(np.int64))
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(acts) or (lengths < 0).any():
        raise ActError(f"{name}: expected offsets that grow from 0 to the number of acts, {len(acts)}")
    if (lengths > MAX_ACTS).any():
        sequence = int(lengths.argmax())
        place = _place(name, len(lengths), sequence)
        raise ActError(f"{place}: expected at most {MAX_ACTS} acts, got {lengths[sequence]}")


def _check_items(acts: Array, importances: Array, offsets: Array, name: str, n_tags: int) -> None:
    for values, most, what in ((acts, n_tags - 1, "act code"), (importances, MAX_IMPORTANCE, "importance")):
        bad = ~((values >= 0) & (values <= most))  # true of NaN as well
        if bad.any():
            item = int(bad.argmax())
            sequence = int(np.searchsorted(offsets, item, side="right")) - 1
            place = _place(name, len(offsets) - 1, sequence, item - int(offsets[sequence]))
            raise ActError(f"{place}: expected {what} from 0 to {most:g}, got {values[item]}")


def _warn_of_sums(weights: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], name: str) -> None:
    # The running total may wrap around; the difference of two of its values is right nevertheless.
    totals = np.concatenate(([0], np.cumsum(weights)))
    sums = totals[offsets[1:]] - totals[offsets[:-1]]
    off = (np.abs(sums - UNITS_PER_WEIGHT) > SUM_TOLERANCE * UNITS_PER_WEIGHT) & (np.diff(offsets) > 0)
    if off.any():
        place = _place(name, len(sums), int(off.argmax()))
        others = f" (the first of {off.sum()})" if off.sum() > 1 else ""
        total = sums[off.argmax()] / UNITS_PER_WEIGHT
        warnings.warn(f"{place}: importances sum to {total:g}, not to 1{others}", ActWarning, stacklevel=4)
