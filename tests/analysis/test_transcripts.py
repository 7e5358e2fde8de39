"""Both sides of a recording in words: pieces, the session's clock, silence, and what is stored."""

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fakes.fake_transcriptions import KEY, FakeTranscriptions, Word, spoken
from fakes.recordings import drawn_recording
from helpers.patience import PATIENCE_S
from helpers.schema import validator
from helpers.voices import RATE_HZ, write
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.word_errors import word_error_rate

import fdbcore
from fdbcore.analysis.speech_pieces import MARGIN_TICKS, MOST_TICKS, pieces
from fdbcore.analysis.transcripts import CallToHear, Transcribing, hear_calls, transcribe
from fdbcore.analysis.word_checks import in_loops, in_silence, within_speech
from fdbcore.audio.speech import without_edges
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import AudioError, PartyError, RecordingError
from fdbcore.measures.heard_words import heard_lines
from fdbcore.measures.reading import Reading
from fdbcore.models.packaged import packaged, why_not
from fdbcore.protocols import Transcriber
from fdbcore.recording.files import WORDS
from fdbcore.recording.kept_transcripts import Transcript, transcripts
from fdbcore.registry import speaker, transcriber
from fdbcore.sources.word_source import word_source_of
from fdbcore.types import SAMPLE_RATE_HZ
from fdbcore.types.words import TimedWord, as_text

A = [Word(("one", "two", "three", "four")[n % 4], 1.0 + 0.9 * n, 1.5 + 0.9 * n) for n in range(60)]
"""Nearly a minute in which A pauses only between words."""
B = [Word("seven", 3.0, 3.4), Word("eight", 70.0, 70.5), Word("nine", 70.7, 71.2)]


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTranscriptions]:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeTranscriptions() as running:
        yield running


def replayed(folder: Path, a: npt.NDArray[np.int16], b: npt.NDArray[np.int16], vad: str = "energy") -> Reading:
    path = write(folder / "call.wav", np.stack([a, b], axis=1))
    return Reading(fdbcore.replay(path, out=folder / "RUN", vad=vad).path)


@pytest.fixture
def call(tmp_path: Path) -> Reading:
    return replayed(tmp_path, spoken(A, 75.0), spoken(B, 75.0))


def words_of(found: Transcript) -> list[Word]:
    return [Word(word.text, word.start_ms / 1000, word.end_ms / 1000) for word in found.words]


def nearly(found: Transcript, expected: list[Word], tolerance_s: float) -> None:
    words = words_of(found)
    assert [word.text for word in words] == [word.text for word in expected]
    off_s = [
        abs(x - y) for one, other in zip(words, expected, strict=True) for x, y in zip(one[1:], other[1:], strict=True)
    ]
    assert max(off_s) <= tolerance_s


def test_words_of_all_pieces_stand_on_the_clock_of_the_session(call: Reading, listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    a, b = (side.transcript for side in transcribe(call, hears, "en"))
    nearly(a, A, 0.015)
    nearly(b, B, 0.015)
    assert len(listener.asked) == 2 + 2  # A's minute in two pieces or more, B's in two
    longest = max(len(asked["file"]) for asked in listener.asked)
    assert longest <= 44 + MOST_TICKS * 160 * 2
    assert sum(len(asked["file"]) for asked in listener.asked) < 65 * 16_000 * 2  # B's long silence is not sent


Spans = list[tuple[int, int]]


@st.composite
def b_turns(draw: st.DrawFn) -> list[Spans]:
    """Turns of B, each cut into speech by pauses, in ticks; A speaks for 2 s before each."""
    found, at = list[Spans](), 0
    for _ in range(draw(st.integers(1, 3))):
        at += 250
        found.append([])
        for speech, pause in draw(st.lists(st.tuples(st.integers(6, 300), st.integers(20, 400)), min_size=1)):
            found[-1].append((at, at + speech))
            at += speech + pause
        at = found[-1][-1][1] + 150
    return found


def told_call(folder: Path, turns: Sequence[Spans], *texts: tuple[int, Mapping[str, object]]) -> Reading:
    """A call in which B takes these turns, and tells texts in these ticks."""
    sides = [[(own[0][0] - 250, own[0][0] - 50) for own in turns], [span for own in turns for span in own]]
    drawn = (" ".join(f"{start / 100:.2f}-{end / 100:.2f}" for start, end in spans) for spans in sides)
    reading = drawn_recording(folder, "A {} | B {}".format(*drawn))
    with (reading.path / "events.jsonl").open("a") as events:
        for tick, data in texts:
            event = {"tick": tick, "side": "B", "kind": "event", "name": "text", "data": data}
            events.write(json.dumps(event) + "\n")
    return Reading(reading.path)


def told_words(reading: Reading) -> Transcript:
    (found,) = transcribe(reading, word_source_of("self-reported"), sides=["B"])
    return found.transcript


@settings(max_examples=40, deadline=None)
@given(turns=b_turns(), n_words=st.integers(1, 25), is_timed=st.booleans(), data=st.data())
def test_told_words_lie_in_the_speech_of_their_turn_however_pauses_cut_it(
    turns: list[Spans], n_words: int, is_timed: bool, data: st.DataObject
) -> None:
    said = [[f"w{number}.{k:0{1 + k % 5}}" for k in range(n_words)] for number in range(len(turns))]
    texts = []
    for own, words in zip(turns, said, strict=True):
        times = {"start_ms": own[0][0] * 10, "end_ms": own[-1][1] * 10} if is_timed else {}
        tick = data.draw(st.sampled_from([tick for span in own for tick in span]))
        texts.append((tick, {"text": " ".join(words), **times}))
    with tempfile.TemporaryDirectory() as folder:
        found = told_words(told_call(Path(folder) / "call", turns, *texts))
    assert (found.text.split(), found.untimed) == ([word for words in said for word in words], 0)
    for number, own in enumerate(turns):
        placed = found.words[number * n_words : (number + 1) * n_words]
        assert all(one.start_ms <= after.start_ms and one.end_ms <= after.end_ms for one, after in pairwise(placed))
        assert all(any(s * 10 <= word.start_ms <= word.end_ms <= e * 10 for s, e in own) for word in placed)


@settings(max_examples=40, deadline=None)
@given(turns=b_turns(), data=st.data())
def test_no_told_word_is_lost_where_any_texts_state_times(turns: list[Spans], data: st.DataObject) -> None:
    """Each stretch of speech has a text, which is told as it ends; those without times may come in more than one."""
    texts: list[tuple[int, Mapping[str, object]]] = []
    said: list[str] = []
    for number, (start, end) in enumerate(span for own in turns for span in own):
        times = {"start_ms": start * 10, "end_ms": end * 10} if data.draw(st.booleans()) else {}
        pieces = data.draw(st.integers(1, 1 if times else 2))
        for k in range(pieces):
            said += [f"w{number}.{k}", f"v{number}.{k}."]
            texts.append((end + k, {"text": " ".join(said[-2:]), **times}))
    with tempfile.TemporaryDirectory() as folder:
        found = told_words(told_call(Path(folder) / "call", turns, *texts))
    assert (sorted(found.text.split()), found.untimed) == (sorted(said), 0)


def test_told_words_are_spread_by_the_length_of_speech(tmp_path: Path) -> None:
    turn = [(250, 350), (410, 510), (810, 1010)]
    reading = told_call(tmp_path / "call", [turn], (1010, {"text": "aaaa bbbb cccc dddd eeee ffff gggg hhhh"}))
    assert [(word.text, word.start_ms, word.end_ms) for word in told_words(reading).words] == [
        *(("aaaa", 2500, 3000), ("bbbb", 3000, 3500)),
        *(("cccc", 4100, 4600), ("dddd", 4600, 5100)),
        *(("eeee", 8100, 8600), ("ffff", 8600, 9100), ("gggg", 9100, 9600), ("hhhh", 9600, 10_100)),
    ]


def test_no_told_word_is_lost_where_some_texts_state_times_and_one_its_end_before_its_start(tmp_path: Path) -> None:
    reading = told_call(
        tmp_path / "call",
        [[(250, 400), (440, 640), (720, 870), (930, 1100)]],
        (400, {"text": "One two.", "start_ms": 2500, "end_ms": 4000}),
        (640, {"text": "Three four."}),
        (870, {"text": "Five six.", "start_ms": 7200, "end_ms": 8700}),
        (1100, {"text": "Seven eight.", "start_ms": 11_000, "end_ms": 9300}),
    )
    found = told_words(reading)
    assert (found.text, found.untimed) == ("One two. Three four. Five six. Seven eight.", 0)
    starts_ms = [word.start_ms for word in found.words[::2]]
    assert starts_ms == [2500, 4400, 7200, 10_800]


def test_pieces_say_what_the_whole_says(call: Reading, listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    a, _ = (side.transcript for side in transcribe(call, hears, "en"))
    whole = hears.words(wav_bytes(spoken(A, 75.0), RATE_HZ), "en")
    assert [word.text for word in whole] == [word.text for word in a.words]
    assert max(abs(one.start_ms - other.start_ms) for one, other in zip(whole, a.words, strict=True)) <= 10


@settings(max_examples=150, deadline=None)
@given(runs=st.lists(st.tuples(st.integers(1, 900), st.integers(1, 4000)), max_size=30), tail=st.integers(0, 300))
def test_pieces_hold_all_speech_in_order_and_cut_in_silence(runs: list[tuple[int, int]], tail: int) -> None:
    active = np.concatenate(
        [
            np.zeros(0, np.bool_),
            *(np.repeat([False, True], [gap, speech]) for gap, speech in runs),
            np.zeros(tail, np.bool_),
        ]
    )
    peaks = np.where(active, 9000, 10).astype(np.uint16)
    found = pieces(active, peaks)
    assert all(0 <= start < end <= len(active) and end - start <= MOST_TICKS for start, end in found)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    held = np.zeros(len(active), np.bool_)
    for start, end in found:
        held[start:end] = True
        ticks = np.flatnonzero(active[start:end])
        assert ticks[0] <= MARGIN_TICKS
        assert end - start - ticks[-1] <= MARGIN_TICKS + 1
    assert held[active].all()
    for (start, end), (following, _) in pairwise(found):
        if not active[start + MOST_TICKS // 2 : start + MOST_TICKS].all():  # there was a silence to cut in
            assert not active[end - 1] or not active[following]


def test_a_word_where_the_side_is_silent_is_flagged_and_kept(call: Reading, listener: FakeTranscriptions) -> None:
    listener.invents = [Word("zero", 0.1, 0.2)]
    told = []
    _, b = (
        side.transcript
        for side in transcribe(
            call, transcriber(listener.address_of("whisper-1")), watch=lambda side, tick: told.append((side, tick))
        )
    )
    assert [(word.text, word.in_silence) for word in b.words] == [
        *[("zero", True), ("seven", False), ("zero", True), ("eight", False), ("nine", False)]
    ]
    assert (b.words_in_silence, b.text) == (2, "seven eight nine")
    assert told == sorted(told)
    assert [side for side, _ in told].count("B") == 2


def test_what_was_heard_is_not_asked_again(call: Reading, listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    first = transcribe(call, hears, "en")
    asked = len(listener.asked)
    again = transcribe(call, hears, "en")
    assert [side.transcript for side in again] == [side.transcript for side in first]
    assert [side.is_new for side in (*first, *again)] == [True, True, False, False]
    assert len(listener.asked) == asked
    transcribe(call, hears, "de")
    assert len(listener.asked) == 2 * asked
    assert [each.language for each in transcripts(call.path, "A")] == ["en", "de"]
    transcribe(call, hears, "en")  # it is asked for last now
    assert [each.language for each in transcripts(call.path, "A")] == ["de", "en"]
    assert len(listener.asked) == 2 * asked
    for side in "AB":
        validator("words").validate(json.loads((call.path / f"derived/words_{side}.json").read_text()))


def test_audio_is_read_again_only_if_its_file_has_changed(
    call: Reading, tmp_path: Path, listener: FakeTranscriptions
) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    first = transcribe(call, hears, "en")
    asked, file = len(listener.asked), tmp_path / "call.wav"
    content, times = file.read_bytes(), file.stat()
    file.write_bytes(bytes(len(content)))  # nobody could read this
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [side.transcript for side in transcribe(Reading(call.path), hears, "en")] == [s.transcript for s in first]
    file.write_bytes(content)  # the same audio with another time
    for _ in range(2):
        again = transcribe(Reading(call.path), hears, "en")
        assert [side.is_new for side in again] == [False, False]
    stored = json.loads((call.path / "derived/words_A.json").read_text())["audio"]
    assert stored["state"]["files"][0]["modified_ns"] == file.stat().st_mtime_ns
    assert len(listener.asked) == asked


def test_a_side_that_is_done_stays_when_the_next_one_fails(call: Reading, listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    listener.fails_from = 3
    with pytest.raises(PartyError, match="fails with 500"):
        transcribe(call, hears, "en", jobs=1)
    assert (len(transcripts(call.path, "A")), transcripts(call.path, "B")) == (1, [])
    listener.fails_from = None
    a, b = transcribe(call, hears, "en")
    assert (a.is_new, b.is_new) == (False, True)


def test_other_audio_is_transcribed_anew(tmp_path: Path, listener: FakeTranscriptions) -> None:
    hears = transcriber(listener.address_of("whisper-1"))
    transcribe(replayed(tmp_path, spoken(A[:3], 9.0), spoken(B[:1], 9.0)), hears, "en")
    kept = json.loads((tmp_path / "RUN/call/derived/words_A.json").read_text())
    other = replayed(tmp_path, spoken(A[1:4], 9.0), spoken(B[:1], 9.0))
    (other.path / "derived/words_A.json").write_text(json.dumps(kept))
    with pytest.raises(RecordingError, match=r"words_A\.json: damaged: of another call$"):
        transcribe(other, hears, "en")
    del kept["activity_sha256"]  # as earlier versions wrote it
    (other.path / "derived/words_A.json").write_text(json.dumps(kept))
    second, _ = transcribe(other, hears, "en")
    assert second.is_new
    assert [word.text for word in second.transcript.words] == ["two", "three", "four"]
    assert transcripts(other.path, "A") == [second.transcript]


def test_what_was_left_out_is_not_sent(tmp_path: Path, listener: FakeTranscriptions) -> None:
    path = write(tmp_path / "call.wav", np.stack([spoken(A[:8], 10.0), spoken(B[:1], 10.0)], axis=1))
    recording = fdbcore.replay(path, out=tmp_path / "RUN", vad="energy", leave_out=[(0, 3.5)])
    a, b = transcribe(Reading(recording.path), transcriber(listener.address_of("whisper-1")), "en")
    assert [word.text for word in a.transcript.words] == [word.text for word in A[:8] if word.start_s > 3.5]
    assert b.transcript.words == ()


def test_audio_that_is_gone_is_named(call: Reading, tmp_path: Path, listener: FakeTranscriptions) -> None:
    (tmp_path / "call.wav").unlink()
    with pytest.raises(AudioError, match=r"call\.wav is gone"):
        transcribe(call, transcriber(listener.address_of("whisper-1")))


def test_words_lose_the_silence_at_their_ends() -> None:
    active = np.zeros(300, np.bool_)
    active[100:150] = active[200:250] = True
    found = within_speech([TimedWord("x", 400, 1300), TimedWord("y", 1950, 2550), TimedWord("z", 1600, 1900)], active)
    assert found == [TimedWord("x", 1000, 1300), TimedWord("y", 1950, 2550), TimedWord("z", 1600, 1900)]
    flags = in_silence([TimedWord("x", 0, 790), TimedWord("y", 0, 810), TimedWord("z", 1710, 1790)], active)
    assert [word.in_silence for word in flags] == [True, False, True]


def said(text: str, start_ms: int = 0, gap_ms: int = 50) -> list[TimedWord]:
    """These words, each of 250 ms, with gaps between them."""
    return [
        TimedWord(word, start_ms + n * (250 + gap_ms), start_ms + n * (250 + gap_ms) + 250)
        for n, word in enumerate(text.split())
    ]


@pytest.mark.parametrize(
    ("before", "again", "times"),
    [
        *(("I would like", "a table for two, please.", 6), ("so", "you", 30), ("", "Thank you for watching!", 9)),
        ("I'm not sure if I can", "get a chance to", 54),
    ],
)
def test_a_phrase_that_goes_on_and_on_is_a_loop(before: str, again: str, times: int) -> None:
    """The last one is what Whisper base made of tones."""
    words = said(" ".join([before, *[again] * times, "and that is all"]))
    first, many = len(before.split()), len(again.split()) * times
    assert [number for number, word in enumerate(in_loops(words)) if word.in_loop] == [*range(first, first + many)]


@pytest.mark.parametrize(
    "text",
    [
        *("no no no no no no", "yes yes, yes, of course", "the the the number is two two two two seven seven"),
        *("Could you say that again? Could you say that again? Could you say that again?", "ha " * 5),
        "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
    ],
)
def test_what_people_repeat_is_no_loop(text: str) -> None:
    assert not any(word.in_loop for word in in_loops(said(text)))


def test_what_is_said_again_after_pauses_is_no_loop() -> None:
    """As somebody calls a system that does not answer."""
    words = [word for n in range(12) for word in said("Hello, are you there?", 4000 * n)]
    assert not any(word.in_loop for word in in_loops(words))


class Looping(Transcriber):
    """Says the same again and again in the first piece that it gets. together: it answers none before so many ask."""

    name = "looping"

    def __init__(self, at_once: int = 1, together: int = 1) -> None:
        self.at_once, self._together = at_once, together
        self.asked: list[int] = []
        self.most = self._now = self.closed = 0
        self._changed = threading.Condition()

    def close(self) -> None:
        self.closed += 1

    def transcribe(self, wav: bytes, language: str) -> str:
        raise AssertionError("asked for words without times")

    def words(self, wav: bytes, language: str) -> list[TimedWord]:
        with self._changed:
            self._now += 1
            self.most = max(self.most, self._now)
            self.asked.append(len(wav))
            first = len(self.asked) == 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._together, PATIENCE_S)
        time.sleep(0.05)
        with self._changed:
            self._now -= 1
        return said("to go to the " * 20 if first else "good bye", 100)


def test_loops_are_kept_and_not_scored(call: Reading) -> None:
    a, b = (side.transcript for side in transcribe(call, Looping()))
    assert (a.words_in_loops, b.words_in_loops) == (80, 0)
    assert a.text == "good bye"
    assert transcripts(call.path, "A") == [a]
    validator("words").validate(json.loads((call.path / "derived/words_A.json").read_text()))
    lines = [line for line in heard_lines(call) if line.get("in_loop")]
    assert {line["side"] for line in lines} == {"A"}
    assert sum(len(line["text"].split()) for line in lines) == 80


@pytest.mark.parametrize("jobs", [1, 3])
def test_so_many_pieces_are_asked_at_once(tmp_path: Path, jobs: int) -> None:
    """Of three calls with the same A, whose pieces are asked once."""
    calls = [
        replayed(tmp_path / str(n), spoken(A, 75.0), spoken([Word("nine", 2.0 + n, 2.5 + n)], 75.0)) for n in range(3)
    ]
    hears = Looping(at_once=7, together=jobs)
    with Transcribing(hears, "en", jobs) as asking:
        heard = [each.heard() for each in [asking.begin(call) for call in calls]]
    assert hears.most == jobs
    assert len(hears.asked) == 2 + 3
    words = [[word.text for word in a.transcript.words] for a, _ in heard]
    assert words[0] == words[1] == words[2]
    assert all(len(b.transcript.words) == 2 for _, b in heard)


def test_calls_of_a_suite_are_heard_by_one_transcriber_several_at_once(tmp_path: Path) -> None:
    """Calls of one piece; the first has lost its audio."""
    calls = [
        replayed(tmp_path / str(n), spoken([Word("one", 1.0 + n / 9, 1.5 + n / 9)], 5.0), spoken([], 5.0)).path
        for n in range(5)
    ]
    (tmp_path / "0/call.wav").unlink()
    hears = Looping(at_once=4, together=4)
    asked = [CallToHear(path.parent.parent.name, path, ["A"], "en") for path in calls]
    heard = hear_calls(asked, hears, None, lambda text: None)
    assert (hears.most, len(hears.asked), hears.closed) == (4, 4, 1)
    assert sorted(heard.transcripts) == ["1", "2", "3", "4"]
    assert [problem.where for problem in heard.problems] == ["0"]


LOCAL = [name for name in ("hibari", "whisper") if why_not(packaged(name)) is not None]


@pytest.mark.skipif(bool(LOCAL), reason=f"needs models: fdbcore models get {' '.join(LOCAL)}")
@pytest.mark.skipif(find_spec("faster_whisper") is None, reason="needs faster-whisper (pip install 'fdbcore[local]')")
def test_whisper_hears_planted_words_at_their_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Words spoken apart, each cut to its sound, so that its start and end are known."""
    planted = "Tuesday morning, Wednesday afternoon, Thursday evening, Saturday breakfast, Sunday dinner.".split()
    audio, expected, at = np.zeros(26 * SAMPLE_RATE_HZ, np.int16), [], SAMPLE_RATE_HZ
    for number, text in enumerate(planted):
        pcm = without_edges(*speaker("hibari").speak("x", text.strip(",.")))
        audio[at : at + len(pcm)] = pcm
        expected.append((at / SAMPLE_RATE_HZ, (at + len(pcm)) / SAMPLE_RATE_HZ))
        at += len(pcm) + round((0.35, 1.2)[number % 2] * SAMPLE_RATE_HZ)
    path = write(tmp_path / "call.wav", np.stack([np.zeros_like(audio), audio], axis=1), SAMPLE_RATE_HZ)
    reading = Reading(fdbcore.replay(path, out=tmp_path / "RUN").path)
    a, b = (side.transcript for side in transcribe(reading, transcriber("whisper"), "en"))
    assert a.words == ()
    rate = word_error_rate(" ".join(planted), as_text(b.words))
    starts = [word.start_ms / 1000 - start_s for word, (start_s, _) in zip(b.words, expected, strict=True)]
    ends = [word.end_ms / 1000 - end_s for word, (_, end_s) in zip(b.words, expected, strict=True)]
    with capsys.disabled():
        print(f"\nWER {rate:.2f}; starts {np.round(starts, 2)}; ends {np.round(ends, 2)}")
    assert rate <= 0.1
    assert max(map(abs, starts)) <= 0.15
    assert max(map(abs, ends)) <= 0.35  # Whisper leaves out how a word fades


def test_self_reported_words_that_an_earlier_version_kept_are_those_of_today(tmp_path: Path) -> None:
    made = told_words(reading := told_call(tmp_path / "call", [[(300, 400)]], (310, {"text": "Hello there."})))
    kept = reading.path / WORDS["B"]
    content = kept.read_text()
    kept.write_text(content.replace('"self-reported"', '"told"'))
    assert transcripts(reading.path, "B") == [made]
    assert told_words(reading) == made
    assert transcripts(reading.path, "B") == [made], "nothing is kept twice"
