"""Media Streams, over real sockets, against a bot that holds all we say to Twilio's own description."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soxr
from fakes.far_end import Reply
from fakes.realtime.plan import place_of
from fakes.twilio_bot import Bot, Quirks, TwilioBot
from helpers.conformance import Behaviour, BurstConformance, asks_twice
from helpers.live_calls import DONE, held, of_kind, probed, said, speaks

from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.types import FRAME_SAMPLES

pytestmark = pytest.mark.live


def address(bot: TwilioBot, settings: str = "") -> str:
    return f"twilio:{bot.url('ws').removeprefix('ws:')}/media?{settings}"


class TestTwilio(BurstConformance):
    speech = staticmethod(asks_twice)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        quirks = Quirks(silence_ms=200, think_s=0.1, faster=50)
        match behaviour:
            case "mute":
                quirks = Quirks(mute=True)
            case "refuses":
                quirks = Quirks(refuses=403)
            case "closes":
                quirks = Quirks(silence_ms=200, think_s=0.1, cues={900: "fail"})
            case "takes back":
                quirks = Quirks([Reply(20), Reply(0)], silence_ms=200, think_s=0.1, faster=500)
            case "hangs":
                pytest.skip("an application is ready as soon as it takes the connection")
        with TwilioBot(quirks) as bot:
            yield endpoint(address(bot))


def call(path: Path, quirks: Quirks, *spoken: tuple[int, int], ticks: int, settings: str = "") -> tuple[Recording, Bot]:
    """A call in which the caller speaks in these spans of ticks, and the bot as it ended it."""
    with TwilioBot(quirks) as bot:
        recording = held(path, speaks(*spoken, ticks=ticks), endpoint(address(bot, settings)))
        (session,) = bot.parties
    return recording, session


def test_an_application_that_drops_the_call_at_its_start_is_not_ready(tmp_path: Path) -> None:
    with TwilioBot(Quirks(cues={60: "fail"})) as bot:
        party = endpoint(address(bot))
        with pytest.raises(PartyError, match=r"right after `start`: the application's own log may say why$"):
            party.probe()
        party.close()
    with TwilioBot() as bot:
        probed(endpoint(address(bot)))
        (session,) = bot.parties
    assert session.stopped


def test_marks_come_back_when_their_audio_has_played(tmp_path: Path) -> None:
    recording, bot = call(tmp_path / "call", Quirks([Reply(1.5)]), (20, 50), ticks=350)
    assert bot.stopped
    (mark,) = bot.marks.values()
    assert mark.back_s is not None
    assert mark.back_s - mark.due_s < 0.1, "the bot itself holds that it is not early"
    place = place_of(soxr.resample(bot.said[0], 8_000, 48_000), said(recording))
    (delay,) = [event for event in of_kind(recording, "delay") if event["why"] == "anchor"]
    assert place - delay["tick"] * FRAME_SAMPLES == 144, "the lead of the resampler, 3 ms at 8 kHz"
    arrived_us = of_kind(recording, "arrivals")[0]["at_us"][0]
    waited_samples = place - arrived_us * 48 / 1000
    assert delay["delay_samples"] == pytest.approx(waited_samples, abs=1), "from its arrival until it is heard"
    certified = recording.measured("B")
    assert certified is not None
    assert certified["delay_samples"] == delay["delay_samples"]
    shown = {name: delay[name] for name in ("tick", "why", "delay_samples")}
    assert certified["delay_changes"] == [shown]


def test_a_clear_is_heard_at_once_and_returns_the_marks(tmp_path: Path) -> None:
    quirks = Quirks([Reply(10), Reply(0.5)], faster=100)
    recording, bot = call(tmp_path / "call", quirks, (20, 50), (250, 280), ticks=450)
    (cut,) = of_kind(recording, "interrupted")
    audio = said(recording)
    place = place_of(soxr.resample(bot.said[0][: cut["heard_ms"] * 8], 8_000, 48_000), audio)
    end = place + cut["heard_ms"] * 48
    assert np.abs(audio[end - FRAME_SAMPLES : end]).max() > 3000
    assert not audio[end + 48 : end + 10 * FRAME_SAMPLES].any()
    assert cut["said_ms"] == pytest.approx(10_000, abs=5)
    assert all(mark.back_s is not None for mark in bot.marks.values())


def test_keys_and_parameters_reach_the_application(tmp_path: Path) -> None:
    settings = "digits=0.5:12%23,1.0:9&parameters=caller:+15550100,lang:en"
    _, bot = call(tmp_path / "call", Quirks(mute=True), ticks=130, settings=settings.replace("+", "%2B"))
    assert bot.digits == "12#9"
    assert bot.start["customParameters"] == {"caller": "+15550100", "lang": "en"}


def test_a_greeting_is_heard_whole(tmp_path: Path) -> None:
    recording, bot = call(tmp_path / "call", Quirks(greeting=Reply(1.0), mute=True), ticks=200)
    assert recording.measured("B")["dropped_samples"] == 0  # type: ignore[typeddict-item]
    assert place_of(soxr.resample(bot.said[0], 8_000, 48_000), said(recording)) < 20 * FRAME_SAMPLES


@pytest.mark.parametrize("cue", ["send_garbage", "send_bytes", "send_unknown", "send_to_another"])
def test_what_is_no_message_for_us_is_logged_and_harms_nothing(cue: str, tmp_path: Path) -> None:
    recording, bot = call(tmp_path / "call", Quirks([Reply(0.5)], cues={300: cue}), (10, 40), ticks=200)
    assert recording.outcome == DONE
    assert bot.stopped


def test_the_request_is_signed_as_twilio_signs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", "0123456789abcdef")
    recording, bot = call(tmp_path / "call", Quirks(), ticks=20, settings="key_variable=TWILIO_AUTH_TOKEN")
    url = f"ws://{bot.request.host}/media"
    expected = base64.b64encode(hmac.new(b"0123456789abcdef", url.encode(), hashlib.sha1).digest()).decode()
    assert bot.request.headers["X-Twilio-Signature"] == expected
    assert "0123456789abcdef" not in (recording.path / "meta.json").read_text()
