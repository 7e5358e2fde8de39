"""`fdbcore report` as a user meets it: pages of a run and of single calls, with or without what is private."""

import base64
import io
import json
import re
from html import unescape
from pathlib import Path

import av
import numpy as np
import pytest
from fakes.browser import BROWSER, dump_dom
from fakes.run_parties import install
from helpers.commands import command, report
from helpers.corpus import BUILT, Ran, ran, replay
from helpers.voices import RATE_HZ, voices, write
from oracles.audio_files import encode

from fdbcore.recording.files import AUDIO, REPORT, SOUND
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import SUMMARY
from fdbcore.report.call import page as call_page
from fdbcore.runs import single_pages

__all__ = ["ran"]


@pytest.mark.parametrize("columns", [60, 80])
def test_the_screen_fits_the_terminal_and_names_the_index(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    before = (ran.run / "index.html").read_text()
    result = report(ran.run, code=0)
    *lines, last = result.stdout.splitlines()
    assert last == str(ran.run / "index.html")
    assert max(map(len, (line for line in lines if "/" not in line))) < columns
    assert lines[0].startswith("7 calls ")
    assert "6 scored, 1 not" in lines[0]
    assert (ran.run / "index.html").read_text() == before


def test_what_is_out_of_date_is_renewed(ran: Ran) -> None:
    summary, pages = ran.run / SUMMARY, ran.run / "pages"
    before = summary.read_text()
    summary.write_text("{}")
    (pages / "gone.js").write_text('moments("gone", [\n["call",[[1,2,"0.1 s"]],[]],\n]);\n')
    (pages / "mine.js").write_text("// a file of the user\n")
    there = {path.name for path in pages.iterdir()}
    assert report(ran.run).exit_code == 0
    assert summary.read_text() == before
    assert {path.name for path in pages.iterdir()} == there - {"gone.js"}
    (pages / "mine.js").unlink()


def test_every_call_that_was_read_has_a_page_and_a_link_to_it(ran: Ran) -> None:
    made = {path.parent.name for path in ran.run.glob(f"*/{REPORT}")}
    assert made == {*BUILT, "broken"}
    listed = {str(call["name"]): call["page"] for call in _calls((ran.run / "index.html").read_text())}
    assert listed == {name: f"{name}/report.html" if name in made else None for name in listed}
    assert len(listed) == 7
    assert 'href="slow/report.html#t=' in (ran.run / "index.html").read_text()
    for name in made:
        page = (ran.run / name / REPORT).read_text()
        assert f'src="../../calls/{name}.wav"' in page
        assert '<a href="../index.html">' in page


def test_the_pages_share_their_script_and_style(ran: Ran) -> None:
    pages = [path.read_text() for path in ran.run.glob(f"*/{REPORT}")]
    shared = {tuple(re.findall(r'(?:<script src|<link rel="stylesheet" href)="([^"]+)"', page)) for page in pages}
    ((style, script),) = shared
    assert "Plotly" in (ran.run / "slow" / script).read_text()
    assert ":root" in (ran.run / "slow" / style).read_text()
    assert max(map(len, pages)) < 150_000


def test_the_page_of_one_call_is_made_when_asked_for(ran: Ran) -> None:
    (ran.run / "slow" / REPORT).unlink()
    result = report(ran.run, "--call", "slow", "--call", "quick")
    assert result.stdout.splitlines() == [str(ran.run / name / REPORT) for name in ("slow", "quick")]
    assert '<a href="../index.html">' in (ran.run / "slow" / REPORT).read_text()


def test_a_name_that_is_not_there_suggests_those_that_are(ran: Ran) -> None:
    result = report(ran.run, "--call", "quik", code=2)
    assert "--call quik: expected one of the 7 calls of" in result.stderr
    assert "perhaps quick" in result.stderr


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    result = report(tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == f"Error: {tmp_path}: expected a run or a recording, found no meta.json"


def test_a_run_to_send_has_ten_seconds_of_each_worst_moment_and_no_link_to_another_file(ran: Ran) -> None:
    before = (ran.run / "index.html").read_text()
    assert re.search(r"run/run.html \(\d+\.\d MB with its clips\)$", report(ran.run, "--embed").stdout.rstrip())
    page = (ran.run / "run.html").read_text()
    assert (ran.run / "index.html").read_text() == before
    assert not re.search(r'href="(?!#|data:)', page)
    assert not any(call["page"] for call in _calls(page))
    assert "calls/" not in page.split("</main>")[0].replace(str(ran.calls), "")
    cut = re.findall(r'data-src="data:audio/webm;base64,([^"]+)" data-from="0" data-to="(\d+(?:\.\d+)?)"[^>]+>', page)
    assert len(cut) == page.count('class="play"')
    sound, length_s = max(cut, key=lambda each: float(each[1]))
    assert float(length_s) == 10.0
    with av.open(io.BytesIO(base64.b64decode(sound)), "r") as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
        assert container.streams.audio[0].codec_context.name in ("opus", "libopus")
    pcm = np.concatenate(frames, axis=1)
    assert pcm.shape[0] == 2
    assert pcm.shape[1] == pytest.approx(480_000, abs=2_000)


def test_a_call_to_send_is_one_file_with_all_of_its_audio(ran: Ran, tmp_path: Path) -> None:
    result = report(ran.run, "--call", "slow", "--embed")
    path = ran.run / "slow" / "slow.html"
    assert re.fullmatch(rf"{path} \(\d\.\d MB, audio at 32 kb/s\)", result.stdout.strip())
    page = path.read_text()
    assert str(ran.calls) not in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page.split("<script>")[0])
    sound = re.search(r'id="sound">([^<]+)<', page)
    assert sound
    with av.open(io.BytesIO(base64.b64decode(sound[1])), "r") as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    length = sum(frame.shape[1] for frame in frames)
    assert length == pytest.approx(Recording(ran.run / "slow").n_ticks * 480, abs=2_000)


def test_a_call_to_send_has_as_good_audio_as_fits(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    report(ran.run, "--call", "slow", "--embed", "--quiet")
    whole = (ran.run / "slow" / "slow.html").stat().st_size
    for module in (call_page, single_pages):
        monkeypatch.setattr(module, "MOST_BYTES", whole - 10_000)
    result = report(ran.run, "--call", "slow", "--embed")
    assert result.stdout.rstrip().endswith(f" kb/s, to stay below {(whole - 10_000) / 1e6:g} MB)")
    monkeypatch.setattr(call_page, "MOST_BYTES", whole - 60_000)
    refused = report(ran.run, "--call", "slow", "--embed", code=1)
    (line,) = refused.stderr.splitlines()
    assert re.search(r"slow: expected at most 0:0\d of audio in a page of [\d.]+ MB, got 0:14", line)


def test_a_page_without_audio_and_words_has_none(ran: Ran) -> None:
    report(ran.run, "--no-audio", "--no-words", "--quiet")
    page = (ran.run / "index.html").read_text()
    assert "data-src" not in page.split("</main>")[0]
    assert all("audio" not in call or call["audio"] is None for call in _calls(page))
    for name in ("early", "slow"):
        assert not re.search(r"<audio [^>]*src=", (ran.run / name / REPORT).read_text())
        assert str(ran.calls) not in (ran.run / name / REPORT).read_text()
    assert report(ran.run, "--no-audio", "--embed").exit_code == 2
    report(ran.run, "--quiet")
    assert re.search(r"<audio [^>]*src=", (ran.run / "slow" / REPORT).read_text())


def _calls(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    calls: list[dict[str, object]] = json.loads(found[1])["calls"]
    return calls


def test_words_that_are_known_are_shown_unless_they_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "v1" / "7"
    folder.mkdir(parents=True)
    samples = voices(BUILT["slow"].drawing)
    write(folder / "input.wav", samples[:, 0])
    write(folder / "output.wav", samples[: -RATE_HZ // 2, 1])
    words = [{"text": " <b>Yes</b>,", "timestamp": [3.9, 4.2]}]
    (folder / "output.json").write_text(json.dumps({"text": "", "chunks": words}))
    other = write(tmp_path / "other.wav", voices(BUILT["early"].drawing))
    assert replay(folder, other, out=tmp_path / "run").exit_code == 0
    index = tmp_path / "run" / "index.html"
    assert "&lt;b&gt;Yes&lt;/b&gt;," in index.read_text()
    assert re.search(r'data-src="../v1/7/input.wav ../v1/7/output.wav"', index.read_text())  # two files
    assert not (tmp_path / "run" / "v1-7" / AUDIO).exists()
    report(tmp_path / "run", "--no-words", "--quiet")
    assert "Yes" not in index.read_text()


def test_a_source_that_is_gone_leaves_a_page_without_audio(tmp_path: Path) -> None:
    pair = [write(tmp_path / f"{side}.wav", voices(BUILT["slow"].drawing)[:, i]) for i, side in enumerate("ab")]
    other = write(tmp_path / "other.wav", voices(BUILT["early"].drawing))
    (tmp_path / "v1").mkdir()
    for path, name in zip(pair, ("input.wav", "output.wav"), strict=True):
        path.rename(tmp_path / "v1" / name)
    replay(tmp_path / "v1", other, out=tmp_path / "run")
    (tmp_path / "v1" / "input.wav").unlink()
    (name,) = (path.parent.name for path in (tmp_path / "run").glob("*v1/meta.json"))
    assert "a page without audio" in report(tmp_path / "run", "--call", name, code=0).stderr
    assert (tmp_path / "run" / name / REPORT).is_file()


def test_a_source_that_has_changed_is_not_heard(tmp_path: Path) -> None:
    calls = [write(tmp_path / f"{name}.wav", voices(BUILT[name].drawing)) for name in ("slow", "mute", "early")]
    replay(*calls, out=tmp_path / "run")
    index = tmp_path / "run" / "index.html"
    calls[0].write_bytes(calls[2].read_bytes())
    calls[1].touch()
    calls[2].unlink()
    result = report(tmp_path / "run", "--embed")
    changed = "slow.wav has changed since it was replayed"
    assert result.stderr.splitlines() == [
        f"fdbcore report: slow: no audio: {changed}",
        "fdbcore report: early: no audio: early.wav is gone, or cannot be read",
    ]
    made = (tmp_path / "run" / "run.html").read_text()
    assert re.search(r"MB with its clips; \d+ of \d+ clips are missing\)$", result.stdout.rstrip())
    assert {moment.split(" ")[0] for moment in re.findall(r'data-title="([^"]+)"', made)} == {"mute"}
    notes = {str(call["name"]): call["notes"] for call in _calls(made)}
    assert notes["slow"] == [f"no audio: {changed}"]
    report(tmp_path / "run", "--quiet")
    assert {call["name"]: call["audio"] for call in _calls(index.read_text())} == {
        "slow": None, "mute": "../mute.wav", "early": None,
    }  # fmt: skip
    assert changed in report(tmp_path / "run", "--call", "slow").stderr
    page = (tmp_path / "run" / "slow" / REPORT).read_text()
    assert f"No audio: {changed}" in page
    assert 'src="../../slow.wav"' not in page


def test_a_call_whose_own_audio_is_gone_costs_the_others_nothing(tmp_path: Path) -> None:
    for name in ("slow", "mute"):
        write(tmp_path / f"{name}.flac", voices(BUILT[name].drawing))
    replay(*(tmp_path / f"{name}.flac" for name in ("slow", "mute")), out=tmp_path / "run")
    meta_path = tmp_path / "run" / "slow" / "meta.json"
    meta = json.loads(meta_path.read_text())
    del meta["source"]
    meta_path.write_text(json.dumps(meta))  # as of a live call, which has no source
    (tmp_path / "run" / "slow" / "derived" / "quantities.json").unlink()
    for name in (AUDIO, SOUND):
        (tmp_path / "run" / "slow" / name).unlink(missing_ok=True)
    result = report(tmp_path / "run", code=0)
    assert result.stderr.splitlines() == ["fdbcore report: slow: no audio: session.wav is gone"]


def test_a_recording_that_cannot_be_read_fails_the_command_and_leaves_the_rest(tmp_path: Path) -> None:
    for name in ("slow", "mute"):
        write(tmp_path / f"{name}.wav", voices(BUILT[name].drawing))
    replay(*(tmp_path / f"{name}.wav" for name in ("slow", "mute")), out=tmp_path / "run")
    (tmp_path / "run" / "slow" / "meta.json").write_text("{")
    result = report(tmp_path / "run", code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fdbcore report: {tmp_path / 'run' / 'slow' / 'meta.json'}: expected JSON")
    assert (tmp_path / "run" / "index.html").is_file()


def test_a_page_without_audio_does_not_tell_which_file_it_was(ran: Ran) -> None:
    report(ran.run, "--call", "slow", "--no-audio")
    page = (ran.run / "slow" / REPORT).read_text()
    assert str(ran.calls) not in page
    assert Recording(ran.run / "slow").meta["source"]["files"][0]["sha256"] not in page
    report(ran.run, "--no-audio", "--quiet")
    assert str(ran.calls) not in (ran.run / "index.html").read_text()
    (ran.run / "slow" / REPORT).unlink()


def test_the_page_of_a_call_has_what_the_table_says_of_it(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("file,caller\nslow.wav,Kunde <12>\nmute.wav,\n")
    replay(ran.calls, "--meta", tmp_path / "calls.csv", out=tmp_path / "run")
    pages = {name: tmp_path / "run" / name / REPORT for name in ("slow", "mute")}
    assert "caller <b>Kunde &lt;12&gt;</b>" in pages["slow"].read_text()
    assert "caller <b>" not in pages["mute"].read_text()
    (tmp_path / "calls.csv").write_text("file,caller\nslow.wav,Kunde 13\n")
    replay(ran.calls, "--meta", tmp_path / "calls.csv", out=tmp_path / "run")
    assert "caller <b>Kunde 13</b>" in pages["slow"].read_text()
    report(tmp_path / "run", "--call", "slow", "--embed", "--quiet")
    assert "caller <b>Kunde 13</b>" in (pages["slow"].parent / "slow.html").read_text()


def test_damage_is_told_once_and_names_the_file_alone(ran: Ran) -> None:
    report(ran.run, "--quiet")
    (broken,) = (call for call in _calls((ran.run / "index.html").read_text()) if call["name"] == "broken")
    assert isinstance(broken["notes"], list)
    (note,) = (note for note in broken["notes"] if "cut off" in note)
    assert note.startswith("broken.wav: cut off: 64000 bytes fewer")


def test_a_copy_that_browsers_play_is_made_once_and_goes_with_its_recording(tmp_path: Path) -> None:
    for name in ("slow", "mute"):
        encode(tmp_path / f"{name}.wav", "adpcm_ms", voices(BUILT[name].drawing), 16_000)
    replay(tmp_path, out=tmp_path / "run")
    copy, other = (tmp_path / "run" / name / SOUND for name in ("slow", "mute"))
    index = tmp_path / "run" / "index.html"
    assert 'data-src="slow/sound.webm"' in index.read_text()
    made_ns = copy.stat().st_mtime_ns
    other.unlink()
    report(tmp_path / "run", "--quiet")
    assert copy.stat().st_mtime_ns == made_ns
    assert other.is_file(), "though nothing that its page shows has changed"
    other.unlink()
    report(tmp_path / "run", "--call", "mute", "--no-audio", "--quiet")
    assert not other.exists()
    report(tmp_path / "run", "--call", "mute", "--quiet")
    assert 'src="sound.webm"' in (other.parent / REPORT).read_text()
    (tmp_path / "mute.wav").rename(tmp_path / "mute.gone")
    report(tmp_path / "run", "--quiet")
    assert _calls(index.read_text())[0]["audio"] == "mute/sound.webm", "it is what was measured"
    write(tmp_path / "mute.wav", voices(BUILT["early"].drawing))
    told = report(tmp_path / "run", "--embed", "--quiet").stderr
    assert "mute: no audio: mute.wav has changed since it was replayed" in told, "no clip is cut from it"
    (tmp_path / "mute.gone").replace(tmp_path / "mute.wav")
    encode(tmp_path / "slow.wav", "pcm_mulaw", voices(BUILT["slow"].drawing)[::2], 8_000)
    replay(tmp_path, out=tmp_path / "run")
    assert not copy.exists(), "browsers play the new source"
    assert 'data-src="../slow.wav"' in index.read_text()


def test_a_live_run_has_an_index_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    systems = ["--system", "good=fake:?speak=80-150", "--system", "bad=fake:?open_error=bug"]
    arguments = ["run", "--vad", "energy", "--clock", "virtual", "--a", "fake:?speak=10-50&finish=300", *systems]
    command(*arguments, "--quiet", "--out", tmp_path / "run")
    assert report(tmp_path / "run").exit_code == 0
    assert "all 2 systems together" in (tmp_path / "run" / "index.html").read_text()
    calls = {call["name"]: call for call in _calls((tmp_path / "run" / "index.html").read_text())}
    assert calls["good"]["columns"] == ["good", "", "1", "done"]
    assert calls["good"]["audio"] == "good/session.wav"
    assert calls["bad"]["why"] == "invalid: RuntimeError: a bug of the endpoint"
    assert (
        (tmp_path / "run" / "calls.csv")
        .read_text()
        .splitlines()[0]
        .startswith("name,file,status,reason,length_s,findings,health,warnings,system,clip,trial,outcome,")
    )


@pytest.mark.parametrize("systems", [1, 2])
def test_a_call_that_missed_ticks_has_a_page_and_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systems: int
) -> None:
    """It sleeps, so the machine is too slow in fact; the audio of the rest is there to be heard."""
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    run, slow = tmp_path / "run", "slow=fake:?speak=80-150&late=4&clocking=wall"
    both = ["--system", slow, "--system", "good=fake:?speak=80-150"][: 2 * systems]
    done = command("run", "--vad", "energy", "--a", "fake:?speak=50-70&finish=170", *both, "--out", run)
    assert "not scored          slow: invalid: " in done.stdout
    for _ in ("as run", "as reported"):
        page = (run / "slow" / "report.html").read_text()
        assert re.search(r'role="alert">.*<li>This call is in no figure. Invalid: \d+ of 170 ticks missed; ', page)
        assert "Listen to these first" not in page
        assert 'src="session.wav"' in page
        (run / "slow" / "report.html").unlink()
        report(run, "--quiet")
    calls = {call["name"]: call for call in _calls((run / "index.html").read_text())}
    assert calls["slow"]["page"] == "slow/report.html"
    pooled = json.loads((run / "summary.json").read_text())["systems"]["slow"]
    assert (pooled["recordings"], pooled["measures"]) == ([], {})


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_the_list_is_filtered_by_numbers(ran: Ran, tmp_path: Path) -> None:
    report(ran.run, "--quiet")
    page = (ran.run / "index.html").read_text()
    wanted = {
        "premature_responses>0 !!": "",
        "premature_responses>0": "early mixed",
        "premature_per_turn>0": "early mixed",
        '"response latency">=1.4': "slow",
        "response_rate<=50%": "early mixed mute",
        "agent_channel=left": "slow",
        "language>1": "",
        "length>1 language=fr": "mixed",
    }
    wrong = {
        "answerd<80%": "no column answerd to compare by <; there are call, length, response_rate, ",
        "response_rate<abc": "response_rate<abc: expected a number or a date such as 2026-11-30, got abc",
        "langage=fr": "no column langage to compare by =; there are ",
        "language=xx": "no call has language=xx",
        "language=fr,health=ok": "no call has language=fr,health=ok; words are separated by blanks",
        "response_rate<60": "response_rate<60 compares counts, and none is so large; a share is 60%",
        "language=": "",
        "response_rate<": "",
    }
    asked = json.dumps([*wrong, *wanted])
    script = (
        f"const told = {asked}.map((text) => {{ const box = document.getElementById('filter'); box.value = text; "
        "box.dispatchEvent(new Event('input')); "
        "const names = [...document.querySelectorAll('#calls tbody .name')].map((name) => name.textContent); "
        "const shown = document.getElementById('shown'); "
        "return shown.classList.contains('bad') ? shown.textContent : names.sort().join(' '); }); "
        "document.body.dataset.told = JSON.stringify(told);"
    )
    (tmp_path / "page.html").write_text(page.replace("</body>", f'<script type="module">{script}</script></body>'))
    dom = dump_dom((tmp_path / "page.html").as_uri(), tmp_path / "profile")
    found = re.search(r'data-told="([^"]*)"', dom)
    assert found
    told = dict(zip([*wrong, *wanted], json.loads(unescape(found[1])), strict=True))
    assert {word: told[word] for word in wanted} == wanted
    for word, start in wrong.items():
        assert told[word].startswith(start), word
        assert start or "no " not in told[word]
