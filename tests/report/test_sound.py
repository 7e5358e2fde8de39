"""Each codec that `replay` reads is heard on the pages of its run, in a real browser; where nothing is, it says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import av
import numpy as np
import pytest
from fakes.browser import opened_page
from helpers.commands import command
from helpers.corpus import replay
from helpers.voices import voices, write
from oracles.audio_files import encode

from fdbcore.audio.decode import AudioFile
from fdbcore.recording.files import AUDIO, SOUND

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WAV: Final = (
    "pcm_mulaw pcm_alaw pcm_u8 pcm_s16le pcm_s24le pcm_s32le pcm_f32le pcm_f64le adpcm_ms adpcm_ima_wav mp3 ac3"
)
OTHERS: Final = (
    "flac.flac libmp3lame.mp3 libopus.ogg libopus.opus flac.ogg libopus.webm libopus.mka aac.m4a alac.m4a aac.mp4 "
    "aac.aac pcm_s16be.aiff pcm_mulaw.au pcm_s16le.caf pcm_s16le.w64 wavpack.wv tta.tta mp2.mp2 pcm_u8.voc ac3.ac3"
)
FILES: Final = [f"{codec}.wav" for codec in WAV.split()] + OTHERS.split()
NO_COPY: Final = {
    *("pcm_mulaw-wav pcm_alaw-wav pcm_u8-wav pcm_s16le-wav pcm_s24le-wav pcm_f32le-wav flac-flac".split()),
    *("libmp3lame-mp3 libopus-ogg libopus-opus flac-ogg libopus-webm aac-m4a".split()),
}
DRAWING: Final = "A 0.5-2 | B 3.9-6.5"
LENGTH_S: Final = 8

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same call in each codec that PyAV can write, and once from a file that is gone since."""
    folder = tmp_path_factory.mktemp("codecs")
    (folder / "calls").mkdir()
    pcm = np.repeat(voices(DRAWING), 3, axis=0)  # 48 kHz
    for name in FILES:
        codec, suffix = name.split(".")
        if codec in av.codecs_available:
            rate_hz = 8_000 if codec.endswith("law") else 48_000
            encode(folder / "calls" / f"{codec}-{suffix}.{suffix}", codec, pcm[:: 48_000 // rate_hz], rate_hz)
    gone = write(folder / "calls" / "gone.wav", pcm, 48_000)
    replay(folder / "calls", out=folder / "run", code=0)
    gone.unlink()
    command("report", folder / "run", "--quiet")
    return folder / "run"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with opened_page() as (found, _):
        yield found


def plays_on(page: Page, from_s: float = 0) -> dict[str, Any]:
    """Wait until the player of a page has played on from a time, or says that it cannot; what it says then."""
    state = "const a = document.getElementById('audio')"
    page.wait_for_function(f"() => {{ {state}; return a.error || a.currentTime > {from_s} + 0.1; }}")
    found: dict[str, Any] = page.evaluate(
        f"() => {{ {state}; return {{ length_s: a.duration, error: a.error && a.error.message, src: a.src }}; }}"
    )
    return found


def test_the_page_of_each_call_plays(run: Path, page: Page) -> None:
    for call in sorted(run.glob("*/meta.json")):
        if call.parent.name != "gone":
            page.goto((call.parent / "report.html").as_uri())
            page.wait_for_selector("html[data-drawn]")
            page.keyboard.press("Space")
            found = plays_on(page)
            assert (found["error"], found["length_s"]) == (None, pytest.approx(LENGTH_S, abs=0.2)), call.parent.name


def listed(page: Page, run: Path, address: str = "") -> Locator:
    page.goto("about:blank")
    page.goto((run / "index.html").as_uri() + address)
    page.wait_for_selector("html[data-loaded]")
    rows = page.locator("#moments-list li" if address else "#calls tbody tr")
    rows.first.wait_for()
    return rows


@pytest.mark.parametrize("address", ["", "#moments=response_latency_ms"])
def test_each_listed_moment_plays_and_others_say_why_not(run: Path, page: Page, address: str) -> None:
    rows = listed(page, run, address)
    assert rows.count() >= len(NO_COPY)
    for row in rows.all():
        if row.locator(".play").count() == 0:
            assert "gone" in row.inner_text()
            assert row.locator(".silent").inner_text() == "no sound: gone.wav is gone, or cannot be read"
            continue
        button = row.locator(".play").first
        button.click()
        found = plays_on(page, float(str(button.get_attribute("data-from"))))
        assert found["error"] is None, row.inner_text()


def test_only_what_browsers_may_not_play_is_copied_and_at_its_time(run: Path) -> None:
    copies = {path.parent.name for path in run.glob(f"*/{SOUND}")}
    assert copies == {path.parent.name for path in run.glob("*/meta.json")} - NO_COPY - {"gone"}
    assert not list(run.rglob(AUDIO))
    with AudioFile(run / "adpcm_ms-wav" / SOUND) as audio:
        heard = np.concatenate(list(audio.blocks()))
    for side, (start_s, end_s) in enumerate([(0.5, 2.0), (3.9, 6.5)]):
        level = np.abs(heard[: 7 * 48_000, side].astype(np.int32)).reshape(-1, 480).max(axis=1)
        loud = np.flatnonzero(level > 5000) / 100
        assert (loud[0], loud[-1]) == pytest.approx((start_s, end_s), abs=0.03)


def test_a_source_that_this_browser_does_not_play_says_so_in_place_of_each_button(run: Path, page: Page) -> None:
    file = run.parent / "calls" / "pcm_alaw-wav.wav"
    held = file.read_bytes()
    file.write_bytes(b"RIFF of another kind" * 99)
    try:
        rows = listed(page, run)
        row = rows.filter(has_text="pcm_alaw-wav")
        others = page.locator(".play").count()
        row.locator(".play").click()
        page.wait_for_selector("#calls .silent >> text=does not know its format")
        assert row.locator(".play").count() == 0
        assert "no sound: the file is missing, or this browser" in page.locator("#playing").inner_text()
        assert 0 < page.locator(".play").count() < others
        page.locator("#filter").fill("alaw")
        page.wait_for_function("document.querySelectorAll('#calls tbody tr').length === 1")
        assert row.locator(".silent").count() == 1, "drawn again"
    finally:
        file.write_bytes(held)
