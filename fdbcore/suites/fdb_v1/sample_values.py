"""The figures of one sample with one system, from its words, its voice activity, and Silero's own segments.

Each figure is a list of values, which are pooled over samples: of a share 0 or 1 for each opportunity, else one each.
Published rules are as the scripts of Full-Duplex-Bench v1 compute them, with their quirks; all are pure functions.

How the system sounds before and after an overlap: speaking rate, pitch, intensity, and a quality of the user's own.

Pitch and intensity are Praat's (Boersma and Weenink; by `parselmouth`, the extra `prosody`), every 10 ms of speech at
16 kHz: pitch of 50 to 600 Hz, intensity by Praat's own window (100 Hz). The speech of each side is what Silero finds in
that side alone. The quality is whatever a command of the user prints about a WAV file, such as UTMOS.

As published, a side without speech is measured whole, and what is not found is 0, which stays in the means. Ours cut at
the end of the overlap, leave out what has less than LEAST_SIDE_S of speech, and of intensity what is softer than
SILENCE_DB.
"""

import hashlib
import json
import math
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext.resample import Resampler
from fdbcore.audio import wav_bytes
from fdbcore.errors import InputError
from fdbcore.measures import (
    RATE_HZ,
    Dialogue,
    Quantity,
    Reading,
    Segment,
    Share,
    Values,
    cut_offs,
    file_rate_hz,
    file_samples,
    items_of,
    labelled_quantities,
    overlap_v15,
    probabilities_of,
    recovery_quantities,
    segments,
    takeover,
    timing_quantities,
)
from fdbcore.recording import KeptLabels, read_json, write_json
from fdbcore.runtime import number_of
from fdbcore.sources import audio_state, stereo_blocks
from fdbcore.stats import jensen_shannon
from fdbcore.suites.fdb_v1.measures import BY_ID, EARLY, SPAN
from fdbcore.suites.fdb_v1.samples import (
    BACKCHANNEL,
    INTERRUPTION,
    PAUSE,
    TURN_TAKING,
    V1,
    UserSample,
    Version,
    compared_s,
    in_ticks,
)
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, Pcm

Figures: TypeAlias = Mapping[str, Sequence[float]]
Hearings: TypeAlias = Mapping[str, Sequence[Segment]]
"""Segments of the system in `tenths`, by the ending of the figures: "", and as the released script hears the file."""

UNWANTED: Final = (PAUSE, BACKCHANNEL)
"""The tasks in which the system should not take over."""
LEAST_S: Final = 1.0
CUT_OFFS: Final = "cut_off_per_labelled_a_pause"
NODS: Final = "b_backchannel_like_per_a_speech_min"
ANSWERED: Final = "answered_per_labelled_turn_end"
TIMES: Final = "response_latency_ms_per_labelled_turn_end"
LONGEST_BACKCHANNEL_S: Final = 3.0
BIN_S: Final = 0.2
NO_CANDIDATE: Final = 1.0
"""The distance of a sample without a backchannel: beyond sqrt(ln 2) = 0.8326, the most that the distance can be."""
_FLOOR: Final = 1e-10

Floats: TypeAlias = npt.NDArray[np.float64]

KEPT: Final = "derived/before_after.json"
PITCH_HZ: Final = (50.0, 600.0)
STEP_S: Final = 0.01
MIN_SPEECH_S, MIN_SILENCE_S = 0.06, 0.05
SILENCE_DB: Final = 20.0
"""Ours: softer is no voice, -74 dBFS, as Praat takes full scale for 1 Pa. Zeros have -300 dB, which would decide any
mean."""
PUBLISHED_SILENCE_DB: Final = -200.0
"""As published: not softer than that, and a side that is has it."""
LEAST_SIDE_S: Final = 0.2
"""Ours: of shorter speech nothing is told."""
PRAAT_S: Final = 0.064
"""Praat measures no intensity of what is shorter."""
COMMAND_S: Final = 600.0
Features: TypeAlias = dict[str, float]
"""By their ids in `measures.FEATURES`; what is not known is missing."""


def of_words(sample: UserSample, words: Sequence[Segment], hearings: Hearings) -> Figures:
    """The published measures of v1 that need the start and end in s of the system's words."""
    if sample.task == BACKCHANNEL:
        return {
            f"compat_takeover_unwanted{ending}": [float(backchannels(segments, words)[0])]
            for ending, segments in hearings.items()
        }
    kind = {TURN_TAKING: "turn_taking", INTERRUPTION: "interrupt"}.get(sample.task, "pause")
    notes = [{"kind": kind, "start_s": start_s, "end_s": end_s} for start_s, end_s in sample.spans]
    found = takeover(words, notes)  # type: ignore[arg-type]
    name = "compat_v1_interruption" if sample.task == INTERRUPTION else "compat_v1"
    figures = {f"compat_takeover_{_wanted(sample)}": items_of(found[f"{name}_takeover_per_sample"])}
    if (latency := found.get(f"{name}_latency_ms")) is not None:
        figures["compat_latency_s"] = [value / 1000 for value in items_of(latency)]
    return figures


def _wanted(sample: UserSample) -> str:
    return "unwanted" if sample.task in UNWANTED else "wanted"


def of_overlaps(user: Sequence[Segment], system: Sequence[Segment]) -> Figures:
    """The published measures of v1.5 that need no words, by Silero's segments of both sides in s."""
    found = overlap_v15(user, system)
    return {
        f"compat_{name}_s": [value / 1000 for value in found[f"compat_v15_{name}_latency_ms"].values]
        for name in ("stop", "response")
    }


def of_backchannels(hearings: Hearings, length_s: float, human: Sequence[float] | None) -> Figures:
    """The published measures of backchannels that need no words. length_s: of the system's audio.

    human: how often people gave backchannels in each bin of this sample; None if that is not known.
    """
    figures: dict[str, Sequence[float]] = {}
    for ending, spans in hearings.items() if length_s else ():
        _, candidates = backchannels(spans, ())
        figures[f"compat_backchannels_per_s{ending}"] = [len(candidates) / length_s]
        if human is not None and (apart := jsd(candidates, length_s, human)) is not None:
            figures[f"compat_jsd{ending}"] = [apart]
        if human is not None and not ending and (apart := distance(candidates, length_s, human)) is not None:
            figures["backchannel_distance"] = [apart]
    return figures


def of_activity(version: Version, sample: UserSample, dialogue: Dialogue) -> Figures:
    """Ours: measures of every call at the labels of the sample, and whether the system took over by voice activity."""
    labels = KeptLabels(sample.name, sample.labels, [])
    found: dict[str, Quantity] = {
        **labelled_quantities(dialogue, labels),
        **recovery_quantities(dialogue, labels, None),
    }
    if sample.task == BACKCHANNEL:
        found[NODS] = timing_quantities(dialogue, with_chance=False)[NODS]
    figures: dict[str, Sequence[float]] = {name: items_of(each) for name, each in found.items() if name in BY_ID}
    if sample.task == TURN_TAKING and ANSWERED in found:
        answered, times = found[ANSWERED], found[TIMES]
        assert isinstance(answered, Share) and isinstance(times, Values)  # noqa: PT018
        early = times.excluded["b_was_speaking"]
        figures[EARLY] = [1.0] * early + [0.0] * (answered.n - early)
    if version == V1:
        figures[f"takeover_by_activity_{_wanted(sample)}"] = [float(took_over(sample, dialogue))]
    return figures


def excluded_pauses(sample: UserSample, dialogue: Dialogue) -> Counter[str]:
    """The number of a sample's pauses that are no opportunity to cut the user off, by why."""
    found = cut_offs(dialogue, KeptLabels(sample.name, sample.labels, [])).get(CUT_OFFS)
    return +Counter(found.excluded) if isinstance(found, Share) else Counter()


def took_over(sample: UserSample, dialogue: Dialogue) -> bool:
    """True if the system spoke for at least 1 s from its first to its last sound; after an interruption, if there is
    one. Where only backchannels are wanted, if one stretch of its speech is as long.
    """
    since = max((in_ticks(span)[1] for span in sample.spans), default=0) if sample.task == INTERRUPTION else 0
    spoken = [(max(start, since), end) for start, end in dialogue.ipus["B"].tolist() if end > since]
    if sample.task == BACKCHANNEL:
        return any(end - start >= LEAST_S * TICKS_PER_S for start, end in spoken)
    return bool(spoken) and spoken[-1][1] - spoken[0][0] >= LEAST_S * TICKS_PER_S


def tenths(segments: Sequence[Segment], length_s: float) -> list[Segment]:
    """v1: the segments of backchannels in tenths of a second, as Silero's package gives them if asked for seconds.

    length_s: of the audio. Halves are those of whole samples.
    """
    rounded = [[round(round(time_s * RATE_HZ) / RATE_HZ, 1) for time_s in segment] for segment in segments]
    return [(start_s, min(end_s, length_s)) for start_s, end_s in rounded]


def backchannels(segments: Sequence[Segment], words: Sequence[Segment]) -> tuple[bool, list[Segment]]:
    """v1: whether the system took over, and the segments that are stored as backchannels; by `tenths` of its segments,
    and the start and end of its words in s.

    A segment of more than 3 s is a takeover and ends the search. Each other one is stored as a backchannel, and decides
    whether it is a takeover: more than three words are, less than 1 s of at most two words are not, all else is. A word
    counts if it lies in the segment or across an edge of it; one that begins at its very end is across it. Each segment
    overwrites what those before it decided. What is stored does not depend on the words.
    """
    taken = False
    candidates: list[Segment] = []
    for start_s, end_s in segments:
        if end_s - start_s > LONGEST_BACKCHANNEL_S:
            return True, candidates
        candidates.append((start_s, end_s))
        n = sum(
            (start_s <= first and last <= end_s) or first <= end_s < last or first <= start_s < last
            for first, last in words
        )
        taken = n > 3 or not (end_s - start_s < 1 and n <= 2)
    return taken, candidates


def histogram(candidates: Sequence[Segment], length_s: float) -> Floats:
    """Candidates in each bin of 0.2 s of a sample of this length, and one more bin, also after 10.0 s."""
    counts = np.zeros(int(length_s / BIN_S) + 1)
    for start_s, end_s in candidates:
        counts[int(start_s / BIN_S) : int(end_s / BIN_S) + 1] += 1
    return counts


def stretched(human: Sequence[float], bins: int) -> Floats:
    """The histogram of people, linearly interpolated to so many bins."""
    return np.interp(np.linspace(0, 1, bins), np.linspace(0, 1, len(human)), np.asarray(human, np.float64))


def jsd(candidates: Sequence[Segment], length_s: float, human: Sequence[float]) -> float | None:
    """v1: what it calls a divergence is SciPy's Jensen-Shannon distance with natural logarithms; 1 without candidates.

    human: the histogram of people for this sample; None if they gave none, where the script has NaN. 1e-10 is added to
    each bin of the system alone.
    """
    if not candidates:
        return NO_CANDIDATE
    if not any(human):
        return None
    from scipy.spatial.distance import jensenshannon

    counts = histogram(candidates, length_s) + _FLOOR
    return float(jensenshannon(counts, stretched(human, len(counts))))


def distance(candidates: Sequence[Segment], length_s: float, human: Sequence[float]) -> float | None:
    """Ours: the Jensen-Shannon distance of the same histograms, 0 to 1; None without candidates or people's."""
    counts = histogram(candidates, length_s)
    found = jensen_shannon(counts, stretched(human, len(counts)))
    return None if math.isnan(found) else found


class Sound(NamedTuple):
    """The features of a system in a sample; of a clean one cut where the overlap would be. As published: before and
    after the cut, and of all of it. Ours: before and after the end of the overlap.
    """

    before: Features
    after: Features
    whole: Features
    ours_before: Features
    ours_after: Features

    def with_more(self, more: "Sound") -> "Sound":
        """These, and what another has."""
        return Sound(*(own | other for own, other in zip(self, more, strict=True)))

    def figures(self, is_clean: bool) -> dict[str, list[float]]:
        """The items of the measures. A clean sample has those of all of it, and no two published sides."""
        sides = {"whole": self.whole} if is_clean else {"before": self.before, "after": self.after}
        published = {f"compat_{name}_{when}": [value] for when, own in sides.items() for name, value in own.items()}
        known = [name for name in self.ours_before if name in self.ours_after]
        return published | {f"{name}_change": [self.ours_after[name] - self.ours_before[name]] for name in known}


NO_SOUND: Final = Sound({}, {}, {}, {}, {})


def lacking() -> str:
    """The reason why pitch and intensity cannot be measured here; "" if they can."""
    return "" if find_spec("parselmouth") else "pitch and intensity need Praat: pip install 'fdbcore[prosody]'"


def sound_of(reading: Reading, words: Sequence[Segment] | None, overlap_end_s: float, command: str | None) -> Sound:
    """The features of the system's sound; kept with the recording.

    words: in s; None if they are not known. command: the quality alone, as it prints it, see `quality`; None: pitch and
    intensity, if nothing is `lacking`. InputError if the command fails.
    """
    cuts = [split_s(words or (), overlap_end_s, compared_s(reading)), overlap_end_s]
    asked = json.dumps([audio_state(reading), cuts, command or "praat"])
    key = hashlib.sha256(asked.encode()).hexdigest()[:32]
    file = reading.path / KEPT
    kept = read_json(file) if file.is_file() else {}
    if key not in kept:
        pcm = _system(reading)
        at, ours_at = (round(cut_s * RATE_HZ) for cut_s in cuts)
        published = [_as_published(side, command) for side in (pcm[:at], pcm[at:], pcm)]
        kept[key] = [*published, *(_ours(side, command) for side in (pcm[:ours_at], pcm[ours_at:]))]
        write_json(file, kept, in_one_line=True)
    return Sound(*kept[key])


def rates(words: Sequence[Segment], overlap_end_s: float, length_s: float) -> Sound:
    """The speaking rates, by the start and end of each word in s. Published: a word across the cut is after it; ours:
    before it.

    length_s: of the system's audio; as published, a side without any of it has nothing.
    """
    cut_s = split_s(words, overlap_end_s, length_s)
    before, after = [word for word in words if word[1] <= cut_s], [word for word in words if word[1] > cut_s]
    published = [
        {"words_per_minute": words_per_minute(own), SPAN: span_s(own)} if side_s > 0 else {}
        for own, side_s in ((before, cut_s), (after, length_s - cut_s), (words, length_s))
    ]
    ours = [[word for word in words if (word[0] < overlap_end_s) == is_before] for is_before in (True, False)]
    return Sound(*published, *({"words_per_minute": words_per_minute(own)} if span_s(own) else {} for own in ours))


def split_s(words: Sequence[Segment], overlap_end_s: float, length_s: float) -> float:
    """v1.5: where before ends and after begins: the start of the word that the end of the overlap lies in, or else of
    the first one after it; where all words end before, the end of the last; without words the end of the overlap.

    length_s: of the system's audio, which the cut lies in.
    """
    in_order = sorted(words, key=lambda word: word[0])
    last_end_s = in_order[-1][1] if in_order else overlap_end_s
    cut_s = next((start for start, end in in_order if overlap_end_s < max(start, end)), last_end_s)
    return max(0.0, min(length_s, cut_s))


def span_s(words: Sequence[Segment]) -> float:
    """From the start of the first word to the end of the last; 0 without any such time."""
    return max(words[-1][1] - words[0][0], 0.0) if words else 0.0


def words_per_minute(words: Sequence[Segment]) -> float:
    """v1.5: words by the time from the first start to the last end; 0 without any such time."""
    return 60 * len(words) / spoken_s if (spoken_s := span_s(words)) else 0.0


def _system(reading: Reading) -> Pcm:
    """The system's side as far as the rules read it, int16 (n,) at 16 kHz: a file of that rate as it is."""
    if file_rate_hz(reading, "B") == RATE_HZ:
        return file_samples(reading, "B")
    resampler = Resampler(SAMPLE_RATE_HZ, RATE_HZ, "best")
    blocks = [resampler.process(np.ascontiguousarray(block[:, 1])) for block in stereo_blocks(reading)]
    return np.concatenate([*blocks, resampler.flush()])[: round(compared_s(reading) * RATE_HZ)]


def _speech(pcm: Pcm) -> Pcm:
    """The speech in audio at 16 kHz, joined; nothing if there is none."""
    found = segments(probabilities_of(pcm), len(pcm) / RATE_HZ, MIN_SPEECH_S, MIN_SILENCE_S)
    return np.concatenate([pcm[:0], *(pcm[round(a * RATE_HZ) : round(b * RATE_HZ)] for a, b in found)])


def _as_published(side: Pcm, command: str | None) -> Features:
    speech = _speech(side)
    return _features(speech if len(speech) else side, command, PUBLISHED_SILENCE_DB)


def _ours(side: Pcm, command: str | None) -> Features:
    speech = _speech(side)
    if len(speech) < LEAST_SIDE_S * RATE_HZ or not speech.any():
        return {}
    return _features(speech, command, SILENCE_DB)


def _features(pcm: Pcm, command: str | None, silence_db: float) -> Features:
    """Features of audio at 16 kHz; where Praat finds no voice, 0, and nothing but silence, `silence_db`."""
    if command is not None:
        return {"utmos": quality(pcm, command)} if len(pcm) else {}
    if len(pcm) < PRAAT_S * RATE_HZ:
        return {}
    import parselmouth

    sound = parselmouth.Sound(pcm / 32768.0, RATE_HZ)
    hz = sound.to_pitch(time_step=STEP_S, pitch_floor=PITCH_HZ[0], pitch_ceiling=PITCH_HZ[1])
    voiced = hz.selected_array["frequency"]
    level = sound.to_intensity(time_step=STEP_S).values[0]
    found = _mean_and_sd("pitch", "hz", voiced[voiced > 0], 0.0)
    return found | _mean_and_sd("intensity", "db", level[level > silence_db], silence_db)


def _mean_and_sd(name: str, unit: str, values: Floats, otherwise: float) -> Features:
    mean = float(values.mean()) if len(values) else otherwise
    return {f"{name}_mean_{unit}": mean, f"{name}_sd_{unit}": float(values.std(ddof=1)) if len(values) > 1 else 0.0}


def quality(pcm: Pcm, command: str) -> float:
    """The number that a command prints last about a WAV file, whose path is its last argument.

    pcm: int16 (n,) at 16 kHz. InputError if it fails, or prints none.
    """
    with tempfile.TemporaryDirectory(prefix="fdbcore-") as folder:
        path = Path(folder) / "speech.wav"
        path.write_bytes(wav_bytes(pcm, RATE_HZ))
        try:
            done = subprocess.run(
                [*shlex.split(command), str(path)], capture_output=True, text=True, timeout=COMMAND_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"--utmos {command}: expected a command that prints a number, got: {error}") from error
    if done.returncode:
        told = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise InputError(f"--utmos {command}: expected exit code 0, got {done.returncode}: {told[0]}")
    try:
        return number_of(done.stdout.split()[-1])
    except (IndexError, ValueError):
        raise InputError(f"--utmos {command}: expected a number as the last word, got {done.stdout[-80:]!r}") from None
