"""Aligns weighted dialogue-act sequences. All weights are integers, so ties between edit scripts are exact.

Two separate dynamic programmes share only their input. The weighted LCS finds the common subsequence of labels with the
greatest weight on the prediction's side; nothing costs anything. The weighted edit distance (WED) finds the cheapest
script that turns the prediction into the reference. The matches of that script are a common subsequence too, so they
weigh at most the weighted LCS. They often weigh less, because the cheapest script may substitute where a match was
possible.

A substitution costs half of both weights. With factors, it costs that many thousandths of this, rounded to a half unit.
"""

from libc.stdint cimport int8_t, int16_t, int64_t
from libc.stdlib cimport free, malloc

OPERATIONS = ("match", "substitution", "deletion", "insertion")
FACTOR_ONE = 1000

cdef enum:
    MATCH
    SUBSTITUTION
    DELETION
    INSERTION

cdef enum:
    ONE = 1000  # FACTOR_ONE

cdef struct ActSequence:
    const int8_t* acts
    const int64_t* weights
    Py_ssize_t length

cdef struct Factors:
    const int16_t* first  # NULL: all are FACTOR_ONE
    Py_ssize_t acts


cdef inline int64_t _swapped(int64_t both, Factors factors, int8_t reference, int8_t predicted) noexcept nogil:
    """The cost to substitute an act by another, in half units. both: the sum of their weights."""
    if factors.first == NULL:
        return both
    return (both * factors.first[reference * factors.acts + predicted] + ONE // 2) // ONE


cdef inline int64_t _mask(bint condition) noexcept nogil:
    """All bits set if the condition holds, else none. Arithmetic replaces a branch that is hard to predict."""
    return -<int64_t>condition


cdef inline void _fill(
    ActSequence reference, ActSequence prediction, Factors factors, int64_t* best, int64_t* costs
) noexcept nogil:
    """Fill both tables in one pass: the processor can then overlap their two chains of dependent steps.

    best[j] is the weighted LCS of the predicted acts so far and the first j acts of the reference. costs[i, j], in half
    units, is the WED of the first i predicted acts and the first j acts of the reference.
    """
    cdef Py_ssize_t i, j
    cdef int64_t deletion, insertion, equal, gain, cost, best_left, best_above, best_diagonal, left, above, diagonal
    cdef int8_t act
    cdef int64_t* row_above
    cdef int64_t* row = costs
    best[0] = row[0] = 0
    for j in range(reference.length):
        best[j + 1] = 0
        row[j + 1] = row[j] + 2 * reference.weights[j]
    for i in range(prediction.length):
        act = prediction.acts[i]
        deletion = prediction.weights[i]
        row_above = row
        row += reference.length + 1
        best_diagonal = best_left = 0
        diagonal = row_above[0]
        left = row[0] = diagonal + 2 * deletion
        for j in range(reference.length):
            insertion = reference.weights[j]
            equal = _mask(act == reference.acts[j])
            gain = deletion & equal
            cost = _swapped(deletion + insertion, factors, reference.acts[j], act) & ~equal
            best_above = best[j + 1]
            best_left = max(best_left, max(best_above, best_diagonal + gain))
            best_diagonal = best_above
            best[j + 1] = best_left
            above = row_above[j + 1]
            left = min(left + 2 * insertion, min(above + 2 * deletion, diagonal + cost))
            diagonal = above
            row[j + 1] = left


cdef inline Py_ssize_t _trace(
    ActSequence reference, ActSequence prediction, Factors factors, const int64_t* costs, int64_t* parts, int8_t* path_end
) noexcept nogil:
    """Walk the cheapest script from its end, and return the number of steps.

    Of equal steps it prefers the diagonal, then deletion, then insertion. The operations are written backwards from
    `path_end`; the costs of deletion, insertion and substitution go into `parts`.
    """
    cdef Py_ssize_t i = prediction.length, j = reference.length, stride = reference.length + 1, steps = 0
    cdef const int64_t* cell = costs + i * stride + j
    cdef int64_t equal, diagonal, delete, insert, deleted, inserted, cost, deletion = 0, insertion = 0, substitution = 0
    while i > 0 and j > 0:
        deleted = prediction.weights[i - 1]
        inserted = reference.weights[j - 1]
        equal = _mask(prediction.acts[i - 1] == reference.acts[j - 1])
        cost = _swapped(deleted + inserted, factors, reference.acts[j - 1], prediction.acts[i - 1]) & ~equal
        diagonal = _mask(cell[0] == cell[-stride - 1] + cost)
        delete = _mask(cell[0] == cell[-stride] + 2 * deleted) & ~diagonal
        insert = ~(diagonal | delete)
        substitution += cost & diagonal
        deletion += 2 * deleted & delete
        insertion += 2 * inserted & insert
        i += ~insert  # -1 unless the step is an insertion, which takes no act of the prediction
        j += ~delete
        cell += ~delete - (stride & ~insert)
        steps += 1
        path_end[-steps] = (SUBSTITUTION & ~equal & diagonal) | (DELETION & delete) | (INSERTION & insert)
    while i > 0:
        i -= 1
        steps += 1
        deletion += 2 * prediction.weights[i]
        path_end[-steps] = DELETION
    while j > 0:
        j -= 1
        steps += 1
        insertion += 2 * reference.weights[j]
        path_end[-steps] = INSERTION
    parts[0] = deletion
    parts[1] = insertion
    parts[2] = substitution
    return steps


cdef Py_ssize_t _longest(const int64_t[::1] offsets, Py_ssize_t total, Py_ssize_t first, Py_ssize_t last) except -1:
    """The length of the longest of the sequences first to last - 1. ValueError unless all lie inside the flat arrays.
    """
    cdef Py_ssize_t i, length, longest = 0
    if not 0 <= first <= last < offsets.shape[0] or offsets[first] < 0 or offsets[last] > total:
        raise ValueError(f"sequences {first} to {last}: outside the arrays of {offsets.shape[0] - 1} sequences")
    for i in range(first, last):
        length = offsets[i + 1] - offsets[i]
        if length < 0:
            raise ValueError(f"offsets: expected to grow, got {offsets[i]} before {offsets[i + 1]}")
        longest = max(longest, length)
    return longest


cdef Factors _checked(const int16_t[:, ::1] factors) except *:
    cdef Py_ssize_t i, j
    if factors.shape[0] == 0 or factors.shape[0] != factors.shape[1]:
        raise ValueError(f"factors: expected as many rows as columns, got {factors.shape[0]} and {factors.shape[1]}")
    for i in range(factors.shape[0]):
        for j in range(factors.shape[1]):
            if not 0 <= factors[i, j] <= ONE:
                raise ValueError(f"factors: expected 0 to {ONE}, got {factors[i, j]}")
    return Factors(&factors[0, 0], factors.shape[0])


cdef int _check_acts(const int8_t[::1] acts, Py_ssize_t start, Py_ssize_t end, Py_ssize_t known) except -1:
    cdef Py_ssize_t i
    for i in range(start, end):
        if not 0 <= acts[i] < known:
            raise ValueError(f"act {acts[i]}: expected one from 0 to {known - 1}, as there are factors for")
    return 0


def align_range(
    const int8_t[::1] reference_acts not None,
    const int64_t[::1] reference_weights not None,
    const int64_t[::1] reference_offsets not None,
    const int8_t[::1] prediction_acts not None,
    const int64_t[::1] prediction_weights not None,
    const int64_t[::1] prediction_offsets not None,
    Py_ssize_t first,
    int64_t[:, ::1] scores not None,
    int8_t[::1] operations not None,
    int64_t[::1] path_starts not None,
    const int16_t[:, ::1] factors=None,
):
    """Align n pairs of sequences from pair `first` on, where n is the number of rows of `scores`, without the GIL.

    Sequence k of a side is acts[offsets[k]:offsets[k + 1]] with its weights. Weights are integers in any unit, not
    negative, and those of a pair sum to less than 2**61. scores, int64 (n, 5), receives the weighted LCS in that unit,
    then WED, deletion, insertion and substitution in half units. The operations of pair k (positions in OPERATIONS, in
    order) go to operations[path_starts[k]:reference_offsets[k + 1] + prediction_offsets[k + 1]]. Disjoint ranges may
    run in parallel. factors, (acts, acts), [reference][predicted], from 0 to FACTOR_ONE: what substituting costs, as
    thousandths of half of both weights, which are then below 2**52; None: the whole half. Equal acts cost nothing.
    ValueError for arrays of the wrong length, and for acts or factors out of range.
    """
    cdef Py_ssize_t last = first + scores.shape[0]
    cdef Py_ssize_t longest_reference = _longest(reference_offsets, reference_acts.shape[0], first, last)
    cdef Py_ssize_t longest_prediction = _longest(prediction_offsets, prediction_acts.shape[0], first, last)
    if (
        reference_weights.shape[0] != reference_acts.shape[0]
        or prediction_weights.shape[0] != prediction_acts.shape[0]
        or scores.shape[1] != 5
        or path_starts.shape[0] < last
        or operations.shape[0] < reference_offsets[last] + prediction_offsets[last]
    ):
        raise ValueError("arrays of acts, weights, scores, operations or path starts: wrong length")
    cdef Factors shares = Factors(NULL, 0)
    if factors is not None:
        shares = _checked(factors)
        _check_acts(reference_acts, reference_offsets[first], reference_offsets[last], shares.acts)
        _check_acts(prediction_acts, prediction_offsets[first], prediction_offsets[last], shares.acts)
    cdef size_t cells = <size_t>(longest_reference + 1) * <size_t>(longest_prediction + 2)
    cdef int64_t* best = <int64_t*>malloc(cells * sizeof(int64_t))
    if best == NULL:
        raise MemoryError
    cdef int64_t* costs = best + longest_reference + 1
    # If all sequences are empty, so is the flat array: it has no first address, and none is needed.
    cdef const int8_t* reference_act = &reference_acts[0] if reference_acts.shape[0] else NULL
    cdef const int64_t* reference_weight = &reference_weights[0] if reference_weights.shape[0] else NULL
    cdef const int8_t* prediction_act = &prediction_acts[0] if prediction_acts.shape[0] else NULL
    cdef const int64_t* prediction_weight = &prediction_weights[0] if prediction_weights.shape[0] else NULL
    cdef int8_t* operation = &operations[0] if operations.shape[0] else NULL
    cdef ActSequence reference, prediction
    cdef Py_ssize_t k, i, j
    with nogil:
        for k in range(first, last):
            i = prediction_offsets[k]
            j = reference_offsets[k]
            prediction = ActSequence(prediction_act + i, prediction_weight + i, prediction_offsets[k + 1] - i)
            reference = ActSequence(reference_act + j, reference_weight + j, reference_offsets[k + 1] - j)
            if shares.first == NULL:  # said here, so that the compiler leaves the factors out of this loop
                _fill(reference, prediction, Factors(NULL, 0), best, costs)
            else:
                _fill(reference, prediction, shares, best, costs)
            scores[k - first, 0] = best[reference.length]
            scores[k - first, 1] = costs[(reference.length + 1) * (prediction.length + 1) - 1]
            i += prediction.length
            j += reference.length
            path_starts[k] = i + j - _trace(
                reference, prediction, shares, costs, &scores[k - first, 2], operation + i + j
            )
    free(best)
