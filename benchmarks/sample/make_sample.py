"""Make the sample session: a call to a dental practice, spoken by a synthesiser at times that the script states.

    python benchmarks/sample/make_sample.py [--out DIR]

writes sample.flac (left A, the caller; right B, a voice agent), truth.json and agent.jsonl (described in README.md)
beside this file, or into DIR. LINES is the source of all.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import av
import numpy as np
import numpy.typing as npt
import soxr

RATE_HZ: Final = 24_000
TICK: Final = RATE_HZ // 100  # samples; clips start on whole ticks and are cut to whole ticks
FLOOR_DB: Final = 40.0  # speech reaches down to this far below its clip's loudest tick
MIN_SPEECH_TICKS: Final = 6
MIN_SILENCE_TICKS: Final = 20
FADE: Final = RATE_HZ // 50  # samples; 20 ms
TAIL_S: Final = 1.0
PACE: Final = 0.90  # of the voices' own durations: they are slow for a telephone call
FULL_SCALE: Final = 32_768.0
CLOCK: Final = datetime(2026, 1, 5, 9, 30, 0, 250_000, tzinfo=UTC)  # of the agent's log when the session begins
LOGGED: Final = {"end of turn": 0.3, "first token": 0.7, "first audio": 0.85}  # at these shares of a gap
SENT_S: Final = 0.02  # before B is heard, its audio is sent

Side: TypeAlias = Literal["A", "B"]
Signal: TypeAlias = npt.NDArray[np.float64]  # mono, full scale 1.0
Span: TypeAlias = tuple[int, int]  # half open


@dataclass(frozen=True)
class Party:
    """One side of the call: its voice, the gain on it, and the level and seed of the tone of its room."""

    role: str
    voice: str
    gain_db: float
    room_dbfs: float
    room_seed: int


PARTIES: Final[dict[Side, Party]] = {
    "A": Party("caller", "rms", gain_db=-5.0, room_dbfs=-63.0, room_seed=1),
    "B": Party("voice agent", "slt", gain_db=-9.5, room_dbfs=-65.0, room_seed=2),
}

Kind: TypeAlias = Literal[
    "opening",
    "gap",
    "slow_answer",
    "overlap",
    "premature",
    "pause",
    "backchannel",
    "interruption_yielded",
    "interruption_not_yielded",
]
SPAN_OF_ITS_OWN: Final[tuple[Kind, ...]] = ("opening", "backchannel", "interruption_not_yielded")


@dataclass(frozen=True)
class When:
    """`offset_s` after the start or the end of the line `anchor` (of the session where it is empty)."""

    anchor: str
    edge: Literal["start", "end"]
    offset_s: float


def at(offset_s: float) -> When:
    return When("", "start", offset_s)


def after(anchor: str, offset_s: float) -> When:
    return When(anchor, "end", offset_s)


def into(anchor: str, offset_s: float) -> When:
    return When(anchor, "start", offset_s)


@dataclass(frozen=True)
class Line:
    """What a side says, when, and what happens by it; after `cut_s` of it the speaker breaks off."""

    name: str
    side: Side
    start: When
    kind: Kind
    text: str
    cut_s: float | None = None
    note: str = ""


# fmt: off
LINES: Final = (
    Line("greeting",  "B", at(0.70), "opening",
         "Good morning, Riverside Dental. How can I help you?"),
    Line("request",   "A", after("greeting", 0.60), "gap",
         "Hello. I would like to move my appointment. It is, let me see,"),
    Line("thursday",  "A", after("request", 2.00), "pause",
         "on Thursday, at three.",
         note="the caller looks it up; it is still the caller's turn"),
    Line("ask_name",  "B", after("thursday", 0.40), "gap",
         "No problem. May I have your name, please?"),
    Line("name",      "A", after("ask_name", -0.25), "overlap",
         "Daniel Reed. Any afternoon next week would suit me."),
    Line("options",   "B", after("name", -0.60), "premature",
         "Thank you, Daniel. Doctor Miller is free on Monday at half past two, on Tuesday at a quarter past four, "
         "and again on Thursday at noon.", cut_s=6.45,
         note="comes in before the caller has finished; later broken off in the word Thursday"),
    Line("uh_huh",    "A", into("options", 3.80), "backchannel",
         "Uh-huh.",
         note="the agent goes on"),
    Line("tuesday",   "A", into("options", 5.95), "interruption_yielded",
         "Tuesday sounds good. I will take that one.",
         note="the agent stops 0.5 s later"),
    Line("check",     "B", after("tuesday", 0.80), "gap",
         "Tuesday, at a quarter past four. Shall I book that?"),
    Line("yes",       "A", after("check", 0.20), "gap",
         "Yes, please."),
    Line("correct",   "A", after("yes", 0.70), "pause",
         "Oh, sorry, no. I have to pick up my son. Is there anything later on Tuesday?",
         note="a correction; the agent must not take the pause for the end of the turn"),
    Line("ten_to",    "B", after("correct", 4.00), "slow_answer",
         "Thank you for waiting. Ten to six is still free.",
         note="nobody speaks for 4 s"),
    Line("perfect",   "A", after("ten_to", 0.50), "gap",
         "Ten to six is perfect."),
    Line("good",      "B", after("perfect", 0.30), "gap",
         "Good."),
    Line("booked",    "B", after("good", 0.35), "pause",
         "I have moved you to Tuesday, at ten to six, with Doctor Miller. You will get a reminder "
         "by text message on Monday evening, together with directions to the practice."),
    Line("by_mail",   "A", into("booked", 5.45), "interruption_not_yielded",
         "Could you send that by email?",
         note="the agent talks on to the end of its sentence"),
    Line("again",     "A", after("booked", 1.00), "gap",
         "Sorry, could you send the reminder by email?"),
    Line("of_course", "B", after("again", 1.50), "gap",
         "Of course, I will email it. Is there anything else?"),
    Line("thanks",    "A", after("of_course", 0.25), "gap",
         "No, that is all. Thank you very much. Goodbye."),
    Line("goodbye",   "B", after("thanks", -0.15), "overlap",
         "You are welcome, Daniel. Goodbye."),
)
# fmt: on


@dataclass(frozen=True)
class Clip:
    """Speech from its first to its last active tick, and its inter-pausal units in samples from its start."""

    signal: Signal
    units: tuple[Span, ...]


@dataclass(frozen=True)
class Utterance:
    """A clip placed at a sample of the session."""

    line: Line
    clip: Clip
    start: int

    @property
    def end(self) -> int:
        """The sample after its last."""
        return self.start + len(self.clip.signal)


def synthesise(text: str, voice: str) -> Signal:
    """`text` spoken by the flite voice `voice`, at RATE_HZ."""
    command = ["flite", "-voice", voice, "--setf", f"duration_stretch={PACE}", "-t", text, "-o", "/dev/stdout"]
    wav = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    with av.open(io.BytesIO(wav.stdout), "r") as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
        voice_rate_hz = container.streams.audio[0].rate
    pcm = np.concatenate(frames, axis=1)[0]
    signal: Signal = soxr.resample(pcm / FULL_SCALE, voice_rate_hz, RATE_HZ, "VHQ")
    return signal


def tick_levels_db(signal: Signal) -> npt.NDArray[np.float64]:
    """The level of every whole tick, in dB of full scale."""
    ticks = signal[: len(signal) // TICK * TICK].reshape(-1, TICK)
    levels_db: npt.NDArray[np.float64] = 10 * np.log10(np.mean(ticks**2, axis=1) + 1e-12)
    return levels_db


def runs(active: Iterable[bool]) -> list[Span]:
    """The spans in which `active` is true."""
    edges = np.flatnonzero(np.diff(np.array([False, *active, False])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def inter_pausal_units(signal: Signal) -> list[Span]:
    """Spans of speech, in ticks: a run shorter than MIN_SPEECH_TICKS starts none, shorter silences are bridged."""
    levels_db = tick_levels_db(signal)
    units: list[Span] = []
    for start, end in runs(levels_db > levels_db.max() - FLOOR_DB):
        if units and start - units[-1][1] < MIN_SILENCE_TICKS:
            units[-1] = (units[-1][0], end)
        elif end - start >= MIN_SPEECH_TICKS:
            units.append((start, end))
    return units


def trim(signal: Signal) -> Clip:
    """`signal` without what lies before its first and after its last inter-pausal unit."""
    units = inter_pausal_units(signal)
    first, last = units[0][0], units[-1][1]
    spans = tuple(((start - first) * TICK, (end - first) * TICK) for start, end in units)
    return Clip(signal[first * TICK : last * TICK], spans)


def break_off(signal: Signal, cut_s: float) -> Signal:
    """`signal` up to `cut_s`, its last 20 ms faded out."""
    kept = signal[: round(cut_s * RATE_HZ)].copy()
    kept[-FADE:] *= np.linspace(1.0, 0.0, FADE, endpoint=False)
    return kept


def speak(line: Line) -> Clip:
    """The clip of `line`."""
    party = PARTIES[line.side]
    clip = trim(synthesise(line.text, party.voice) * 10 ** (party.gain_db / 20))
    return clip if line.cut_s is None else trim(break_off(clip.signal, line.cut_s))


def place(lines: Sequence[Line]) -> dict[str, Utterance]:
    """Every line at its time, on whole ticks."""
    placed: dict[str, Utterance] = {}
    for line in lines:
        origin = getattr(placed[line.start.anchor], line.start.edge) if line.start.anchor else 0
        placed[line.name] = Utterance(line, speak(line), origin + round(line.start.offset_s * 100) * TICK)
    return placed


def room_tone(party: Party, samples: int) -> Signal:
    """Steady noise of a room: most of it between 80 and 500 Hz, so that it compresses well."""
    white = np.random.default_rng(party.room_seed).standard_normal(samples)
    hz = np.fft.rfftfreq(samples, 1 / RATE_HZ)
    shape = (hz / 80) ** 2 / (1 + (hz / 80) ** 2) / (1 + (hz / 500) ** 2) ** 3
    tone = np.fft.irfft(np.fft.rfft(white) * shape, samples)
    scaled: Signal = tone * 10 ** (party.room_dbfs / 20) / np.sqrt(np.mean(tone**2))
    return scaled


def mix(utterances: Iterable[Utterance], samples: int) -> npt.NDArray[np.int16]:
    """The session as int16, shape (2, samples)."""
    session = np.stack([room_tone(party, samples) for party in PARTIES.values()])
    for utterance in utterances:
        session[list(PARTIES).index(utterance.line.side), utterance.start : utterance.end] += utterance.clip.signal
    if np.abs(session).max() >= 1:
        sys.exit("the speech clips: lower gain_db")
    return np.rint(session * FULL_SCALE).astype(np.int16)


def moment(utterance: Utterance, placed: dict[str, Utterance]) -> dict[str, Any]:
    """What happens by `utterance`: a pause or a change of the floor from edge to edge, else its speech."""
    line, start, end = utterance.line, utterance.start, utterance.end
    if line.kind not in SPAN_OF_ITS_OWN:
        start, end = sorted((start, placed[line.start.anchor].end))
    return {
        "kind": line.kind,
        "side": line.side,
        "at_s": start / RATE_HZ,
        "end_s": end / RATE_HZ,
        "utterance": line.name,
    }


def described(utterance: Utterance) -> dict[str, Any]:
    """The entry of `utterance` in truth.json."""
    line, start, end = utterance.line, utterance.start, utterance.end
    return {
        "name": line.name,
        "side": line.side,
        "start_sample": start,
        "end_sample": end,
        "start_s": start / RATE_HZ,
        "end_s": end / RATE_HZ,
        "text": line.text,
        "note": line.note,
        "cut_off": line.cut_s is not None,
        "ipus": [[start + first, start + last] for first, last in utterance.clip.units],
    }


def truth(placed: dict[str, Utterance], samples: int) -> dict[str, Any]:
    """The content of truth.json."""
    parties = {side: {"role": party.role, "voice": f"cmu_us_{party.voice}"} for side, party in PARTIES.items()}
    return {
        "schema": 1,
        "audio": {"file": "sample.flac", "rate_hz": RATE_HZ, "channels": list(PARTIES), "samples": samples},
        "synthesiser": flite_version(),
        "parties": parties,
        "utterances": [described(utterance) for utterance in placed.values()],
        "moments": [moment(utterance, placed) for utterance in placed.values()],
    }


def agent_log(known: dict[str, Any]) -> list[dict[str, str]]:
    """The content of agent.jsonl: what the agent would have logged, by its own clock. known: that of truth.json."""
    times_s: list[tuple[float, str]] = []
    for of in known["moments"]:
        if of["side"] == "B" and of["kind"] in ("gap", "slow_answer"):
            times_s += [(of["at_s"] + share * (of["end_s"] - of["at_s"]), name) for name, share in LOGGED.items()]
    for of in known["utterances"]:
        if of["side"] == "B":
            times_s += [(of["start_s"] - SENT_S, "playback started"), (of["end_s"], "playback finished")]
    times = ((CLOCK + timedelta(seconds=time_s), name) for time_s, name in sorted(times_s))
    return [{"time": time.isoformat(timespec="milliseconds"), "name": name} for time, name in times]


def flite_version() -> str:
    """The release of the installed flite."""
    said = subprocess.run(["flite", "--version"], capture_output=True, text=True).stdout
    return next(line.split()[1] for line in said.splitlines() if "version:" in line)


def write_flac(path: Path, session: npt.NDArray[np.int16]) -> None:
    """Write `session` as 16-bit FLAC."""
    with av.open(str(path), "w", format="flac") as container:
        stream = container.add_stream("flac", rate=RATE_HZ, layout="stereo", format="s16")
        stream.options = {"compression_level": "12"}
        interleaved = np.ascontiguousarray(session.T).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(interleaved, format="s16", layout="stereo")
        frame.sample_rate = RATE_HZ
        container.mux([*stream.encode(frame), *stream.encode(None)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample session with flite.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write into")
    out: Path = parser.parse_args().out
    if shutil.which("flite") is None:
        sys.exit("flite, the speech synthesiser, is not installed (Debian, Ubuntu: apt-get install flite)")
    out.mkdir(parents=True, exist_ok=True)
    placed = place(LINES)
    samples = max(utterance.end for utterance in placed.values()) + round(TAIL_S * RATE_HZ)
    write_flac(out / "sample.flac", mix(placed.values(), samples))
    known = truth(placed, samples)
    (out / "truth.json").write_text(json.dumps(known, indent=1) + "\n")
    (out / "agent.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in agent_log(known)))


if __name__ == "__main__":
    main()
