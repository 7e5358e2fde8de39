"""The words of scripted parties on their audio, against words whose places are known because they were put there."""

import json
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from helpers.commands import done
from helpers.voices import write

from fdbcore.audio.speech import without_edges
from fdbcore.models.asr.alignment import Aligner
from fdbcore.recording.kept_transcripts import Transcript, transcripts
from fdbcore.registry import speaker
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

pytestmark = [
    pytest.mark.skipif(find_spec("pocketsphinx") is None, reason="needs pocketsphinx (pip install 'fdbcore[local]')"),
    pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="needs espeakng-loader ('fdbcore[live]')"),
]

LINES = [
    "Tuesday morning or Wednesday afternoon, whatever suits you.",
    "Declan's sixty-one geraniums: twenty-six, 7 and one.",
    "Monday evening never works because everybody travels home.",
    "Thank you, that would be wonderful!",
]
"""The second one has words that no dictionary has; the third one is cut."""
CUT = 2
VOICE = "espeak-ng:en-us+f2?words_per_minute=150"


def spoken(text: str, gap_s: float = 0.08) -> tuple[Pcm, list[tuple[float, float]]]:
    """The words of a text, each spoken alone, with the start and end in ms of each."""
    parts: list[Pcm] = []
    spans, at = list[tuple[float, float]](), 0
    for word in text.split():
        pcm = without_edges(*speaker(VOICE).speak("x", word.strip(",.!:")))
        spans.append((at / 48, (at + len(pcm)) / 48))
        parts += [pcm, np.zeros(round(gap_s * SAMPLE_RATE_HZ), np.int16)]
        at += len(parts[-2]) + len(parts[-1])
    return np.concatenate(parts[:-1]), spans


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[tuple[float, float]]]]:
    """A call in which A says LINES and the system speaks into one of them, and where the words of each line lie."""
    folder = tmp_path_factory.mktemp("known")
    spans = []
    for number, text in enumerate(LINES, 1):
        pcm, places = spoken(text)
        write(folder / "said" / f"{number}.wav", pcm, SAMPLE_RATE_HZ)
        spans.append(places)
    script = "".join(
        f'[[line]]\nsay = "{text}"\n{"at_s = 1.0" if not number else "after = " + chr(34) + "own_end" + chr(34)}\n'
        + ("delay_s = 1.5\n" if number else "")
        + ("stop_when_interrupted = true\n" if number == CUT else "")
        for number, text in enumerate(LINES)
    )
    (folder / "a.toml").write_text(f'yield_ms = 200\ntail_s = 1.0\nvoice = "dir:{folder / "said"}"\n{script}')
    begins_s = 1.0 + sum(places[-1][1] / 1000 + 1.5 for places in spans[:CUT]) + 1.7
    write(folder / "beep.wav", (3000 * np.sign(np.sin(np.arange(96_000) / 20))).astype(np.int16), SAMPLE_RATE_HZ)
    (folder / "b.toml").write_text(f'tail_s = 12.0\n[[line]]\nclip = "beep.wav"\nat_s = {begins_s}\n')
    return hold(folder, folder / "RUN"), spans


def hold(folder: Path, out: Path, *more: str) -> Path:
    """The recording of a call between the parties of a folder."""
    done(
        *("run", "--a", f"scripted:{folder / 'a.toml'}", "--system", f"b=scripted:{folder / 'b.toml'}"),
        *("--clock", "virtual", "--vad", "energy", "--out", str(out), *more),
    )
    (path,) = (each.parent for each in out.glob("*/meta.json"))
    return path


def transcribed(path: Path, *more: str, source: str = "known-text") -> str:
    result = done("transcribe", path, "--transcriber", source, *more)
    return result.stdout.strip()


def ms_of_lines(path: Path, kind: str) -> Sequence[int]:
    """When A's lines start or end, as the party tells."""
    events = map(json.loads, (path / "events.jsonl").read_text().splitlines())
    return [event["tick"] * 10 for event in events if event.get("kind") == kind and event["side"] == "A"]


def test_the_words_of_a_script_stand_where_they_were_said(
    call: tuple[Path, list[list[tuple[float, float]]]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, spans = call
    told = transcribed(path)
    assert told.endswith("B unscored: it did not tell what it said")
    (found,) = transcripts(path, "A")
    assert transcripts(path, "B") == []
    said = [text.split() for text in LINES]
    starts_ms, ends_ms = ms_of_lines(path, "line_start"), ms_of_lines(path, "line_end")
    heard_ms = ends_ms[CUT] - starts_ms[CUT]
    assert 1500 < heard_ms < spans[CUT][-2][0]
    heard = [word for word, (_, end_ms) in zip(said[CUT], spans[CUT], strict=True) if end_ms < heard_ms]
    words = found.text.split()
    assert words[: len(said[0]) + len(said[1])] == said[0] + said[1]
    cut = words[len(said[0]) + len(said[1]) : -len(said[3])]
    assert cut[: len(heard)] == heard
    assert len(cut) <= len(heard) + 1  # that in which it was cut
    assert words[-len(said[3]) :] == said[3]
    said[CUT] = cut
    true = [
        (start_ms + first_ms, start_ms + last_ms)
        for start_ms, places, line in zip(starts_ms, spans, said, strict=True)
        for first_ms, last_ms in places[: len(line)]
    ]
    off = np.array([[word.start_ms, word.end_ms] for word in found.words]) - np.array(true)
    known = np.ones(len(off), bool)
    known[len(said[0]) + len(said[1]) + len(heard) : -len(said[3])] = False  # its end is where it was cut
    with capsys.disabled():
        starts, ends = np.abs(off[known]).T
        print(f"\nknown-text: {known.sum()} words; starts {_told(starts)}; ends {_told(ends)}")
    assert np.median(np.abs(off[known])) <= 30
    assert np.abs(off[known]).max() <= 120
    assert found.words_in_silence == 0


def _told(off_ms: npt.NDArray[np.float64]) -> str:
    return f"off by {np.median(off_ms):.0f} ms (median), {np.max(off_ms):.0f} ms (most)"


def test_a_line_that_the_end_of_the_call_cuts_has_its_first_words(
    call: tuple[Path, list[list[tuple[float, float]]]], tmp_path: Path
) -> None:
    held, spans = call
    last_ms = ms_of_lines(held, "line_start")[-1]
    path = hold(held.parents[1], tmp_path / "RUN", "--max-s", str(last_ms / 1000 + 2))
    transcribed(path)
    (found,) = transcripts(path, "A")
    heard = [word for word, (_, end_ms) in zip(LINES[-1].split(), spans[-1], strict=True) if end_ms < 2000]
    words = [word.text for word in found.words if word.start_ms >= last_ms - 50]
    assert (words[: len(heard)], found.untimed) == (heard, 0)
    assert len(heard) <= len(words) <= len(heard) + 1


def test_told_words_are_spread_over_their_lines_and_those_after_a_cut_are_left_out(
    call: tuple[Path, list[list[tuple[float, float]]]],
) -> None:
    path, spans = call
    assert transcribed(path, source="self-reported").endswith("B unscored: it did not tell what it said")
    found = next(each for each in transcripts(path, "A") if each.transcriber == "self-reported")
    starts_ms, ends_ms = ms_of_lines(path, "line_start"), ms_of_lines(path, "line_end")
    for number, line in enumerate(LINES):
        words = [word for word in found.words if starts_ms[number] <= word.start_ms < ends_ms[number]]
        said = line.split()
        assert [word.text for word in words] == said[: len(words)]
        if number == CUT:
            heard_ms = ends_ms[CUT] - starts_ms[CUT]
            heard = sum(end_ms < heard_ms for _, end_ms in spans[CUT])
            assert abs(len(words) - heard) <= 1
        else:
            assert len(words) == len(said)
            assert abs(words[0].start_ms - starts_ms[number]) <= 60
            assert abs(words[-1].end_ms - ends_ms[number]) <= 250  # what of a last sound is silent


BRIEF = """{"schema": "fdbcore.brief/1", "id": "mug", "closing": "Bye.", "most_turns": 4, "most_s": 60,
"role": "Ada", "background": "", "language": "en",
"goals": [{"goal": "Buy a mug.", "sayings": ["I would like a mug."], "met": "A mug.", "heard": [["mug"]],
"language": "en"}]}"""
GREETING = "Forty eight pounds is our usual price, madam, and that boat looks really wonderful today."


@pytest.fixture(scope="module")
def muted_call(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[float, float]]]:
    """A call whose system says a line, a long one, and a third, and is muted for the first 4 s: during the first line,
    and the begin of the second. And where the words of the second lie in the call."""
    folder = tmp_path_factory.mktemp("muted")
    short, _ = spoken("Welcome.")
    long, spans = spoken(GREETING)
    texts = ["Welcome.", GREETING, LINES[3]]
    for number, pcm in enumerate((short, long, spoken(LINES[3])[0]), 1):
        write(folder / "said" / f"{number}.wav", pcm, SAMPLE_RATE_HZ)
    times = ["at_s = 0.2", "at_s = 1.5", "at_s = 11.0"]
    lines = "".join(f'[[line]]\nsay = "{text}"\n{when}\n' for text, when in zip(texts, times, strict=True))
    (folder / "b.toml").write_text(f'tail_s = 9.0\nvoice = "dir:{folder / "said"}"\n{lines}')
    (folder / "a.json").write_text(BRIEF)
    done(
        *("run", "--a", f"examiner:{folder / 'a.json'}?opens=examiner&voice=espeak-ng:en-us"),
        *("--system", f"b=scripted:{folder / 'b.toml'}", "--clock", "virtual", "--vad", "energy"),
        *("--max-s", "24", "--out", str(folder / "RUN")),
    )
    (path,) = (each.parent for each in (folder / "RUN").glob("*/meta.json"))
    return path, [(1500 + start_ms, 1500 + end_ms) for start_ms, end_ms in spans]


@pytest.mark.parametrize("source", ["self-reported", "known-text"])
def test_what_a_side_said_while_it_was_muted_has_no_words(
    muted_call: tuple[Path, list[tuple[float, float]]], source: str
) -> None:
    path, spans = muted_call
    (muted,) = (json.loads(line) for line in (path / "events.jsonl").read_text().splitlines() if '"muted"' in line)
    assert (muted["side"], muted["to_tick"]) == ("B", 400)
    assert spans[3][0] < 4000 < spans[-4][0]
    transcribed(path, source=source)
    found = next(each for each in transcripts(path, "B") if each.transcriber == source)
    assert found.untimed == 0
    words = [word for word in found.words if word.start_ms < 10_800]
    said = GREETING.split()
    assert [word.text for word in words] == said[len(said) - len(words) :]
    assert abs(len(words) - sum(start_ms >= 4000 for start_ms, _ in spans)) <= 1
    off = [word.start_ms - start_ms for word, (start_ms, _) in zip(words, spans[-len(words) :], strict=True)]
    assert words[0].start_ms >= 3900
    assert np.median(np.abs(off)) <= (500 if source == "self-reported" else 50)
    assert found.text.endswith(f" {LINES[3]}")


def test_it_is_made_once(call: tuple[Path, list[list[tuple[float, float]]]]) -> None:
    path, _ = call
    transcribed(path)
    before: list[Transcript] = transcripts(path, "A")
    assert "(transcribed before)" in transcribed(path)
    assert transcripts(path, "A") == before


def test_other_languages_are_unscored_with_the_reason(call: tuple[Path, list[list[tuple[float, float]]]]) -> None:
    path, _ = call
    assert transcribed(path, "--language", "ja").split(": ", 1)[1] == (
        "A unscored: only English can be aligned, got ja: --transcriber whisper hears it; "
        "B unscored: only English can be aligned, got ja: --transcriber whisper hears it"
    )


def test_a_goal_in_another_language_has_no_times(
    call: tuple[Path, list[list[tuple[float, float]]]], tmp_path: Path
) -> None:
    """As an examiner's brief tells it."""
    path = Path(shutil.copytree(call[0], tmp_path / "b"))
    meta = json.loads((path / "meta.json").read_text())
    goals = [{"language": "fr", "sayings": [LINES[0]]}, {"language": "en", "sayings": [LINES[1]]}]
    meta["parties"]["A"]["brief"] = {"language": "en", "goals": goals}
    (path / "meta.json").write_text(json.dumps(meta))
    for stale in ("words_A.json", "quantities.json"):
        (path / "derived" / stale).unlink(missing_ok=True)
    transcribed(path)
    (found,) = transcripts(path, "A")
    assert found.untimed == len(LINES[0].split())
    assert found.text.split()[: len(LINES[1].split())] == LINES[1].split()


def test_a_line_is_placed_alike_whatever_came_before() -> None:
    one, two = (_at_16k(spoken(text)[0]) for text in (LINES[0], LINES[3]))
    aligner = Aligner()
    first = aligner.spans_ms(one, LINES[0].split(), cut=False)
    aligner.spans_ms(two, LINES[3].split(), cut=False)
    assert first is not None
    assert aligner.spans_ms(one, LINES[0].split(), cut=False) == first
    assert Aligner().spans_ms(two, LINES[3].split(), cut=False) is not None


def test_words_that_were_not_said_have_no_times() -> None:
    audio = _at_16k(spoken(LINES[3])[0])
    assert Aligner().spans_ms(audio[:8000], LINES[0].split() * 3, cut=False) is None
    assert Aligner().spans_ms(audio, ["—", "?"], cut=False) in (None, [None, None])


def _at_16k(pcm: Pcm) -> Pcm:
    return np.ascontiguousarray(pcm[: len(pcm) // 3 * 3].reshape(-1, 3).mean(axis=1).astype(np.int16))
