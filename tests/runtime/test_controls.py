"""What others wrote is no command to a terminal, and XML holds it: names, columns, messages, texts of drawings."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from helpers.terminal import on_terminal

from fdbcore.cli.main import main
from fdbcore.report.comparison.junit import junit_of_error
from fdbcore.report.svg.charts import Axis, Point, TrendPoint, plane, trend
from fdbcore.runtime.redaction import on_screen
from fdbcore.suites.dialogue_acts.page.picture import Block, _block
from fdbcore.suites.dialogue_acts.tag_sets import TagJson

HOSTILE = 'x\x1b]0;t\x07\x1b[2J\r\x9b31m\x7f\x85\u202ecod\u2066\u2028\u200f<b>&"'
KEPT = "שלום مرحبا 👩\u200d💻 é 日本 \t\r\n"
ACTING = {*map(chr, (*range(32), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0x200F))} - {
    *"\n\t"
}


def test_what_acts_is_shown_as_json_writes_it() -> None:
    assert on_screen(KEPT) == KEPT
    assert on_screen("a\x1b[2Jb\u202e\udc9b\r") == r"a\u001b[2Jb\u202e\udc9b\u000d"
    assert json.loads(on_screen(json.dumps(HOSTILE, ensure_ascii=False))) == HOSTILE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("controls")
    calls = drawn_calls(8, 1, lambda number: Manner())
    for run in ("old", "new"):
        made_run(
            path / run,
            [MadeCall(f"{n}{HOSTILE[:9]}", call.activity, {"lang": HOSTILE}) for n, call in enumerate(calls)],
        )
    gate = f'{{check = "premature_per_turn <= 0.5", where = {{lang = {on_screen(json.dumps(HOSTILE))}}}}}'
    (path / "gates.toml").write_text(f"gates = [{gate}]")
    return path


def told(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], color=True)


@pytest.mark.parametrize("words", ["report new --baseline old --by lang", "score new --by lang", f"report {HOSTILE}"])
def test_no_command_prints_what_acts(folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    printed = told(*words.split(" ")).output
    assert not ACTING & {*printed}
    assert "x\\u001b]0;t\\u0007" in printed


def test_no_table_of_a_run_holds_what_acts(folder: Path) -> None:
    told("report", folder / "old", "--no-audio", "--quiet")
    for name in ("calls.csv", "events.csv"):
        text = (folder / "old" / name).read_bytes().decode()
        assert not ACTING & {*text.replace("\r\n", "\n")}
        assert "0x\\u001b]0;t\\u0007" in text
    with (folder / "old" / "calls.csv").open(newline="", encoding="utf-8") as file:
        shown = HOSTILE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\r", "\\u000d")
        for each in "\x9b\x7f\x85\u202e\u2066\u2028\u200f":
            shown = shown.replace(each, f"\\u{ord(each):04x}")
        assert {row["lang"] for row in csv.DictReader(file)} == {shown}


DRAW = f"""
from fdbcore.cli.status import Part, Status
from fdbcore.runtime.redaction import write_no_secrets
write_no_secrets()
with Status() as status:
    status({HOSTILE!r}, 1, 2, [Part({HOSTILE!r}, 1, 2, {HOSTILE!r})])
"""


def test_a_status_is_drawn_and_its_texts_do_not_act() -> None:
    _, screen = on_terminal("-c", DRAW)
    assert screen.count("x\\u001b]0;t\\u0007") >= 3
    assert "\x1b[2K" in screen  # removes the status
    assert ACTING & {*screen} == {"\x1b", "\r"}


def test_junit_is_well_formed(folder: Path) -> None:
    junit = folder / "junit.xml"
    told("report", folder / "new", "--gate", folder / "gates.toml", "--junit", junit)
    (case,) = ElementTree.parse(junit).getroot().findall("testcase")
    assert case.attrib["name"].startswith("premature_per_turn <= 0.5 where lang = x\ufffd]0;t\ufffd")
    text = junit_of_error(Path(HOSTILE), f"{HOSTILE}\0\ufffe\uffff\ud800")
    assert not (ACTING - {"\r"}) & {*text}
    assert ElementTree.fromstring(text.encode()).find("testcase/error") is not None


def test_texts_of_drawings_are_texts() -> None:
    point = Point(HOSTILE, 0.5, 0.5, HOSTILE)
    tag = TagJson(name="A" * 20, short="<b>\x1b", colour='"#<', definition={})
    drawn = [
        trend(HOSTILE, "", [TrendPoint(HOSTILE, at, 1.0, None, HOSTILE, HOSTILE) for at in (0, 1)]).svg,
        plane(HOSTILE, "", Axis(0, 1, 0.1, [0], HOSTILE, HOSTILE), [point]).svg,
        _block(Block("Inform", 1.0, 0, 70, "kept"), tag, 0),
    ]
    for text in drawn:
        root = ElementTree.fromstring(text.encode())
        assert not root.findall(".//b")
        assert "<b>" in "".join(root.itertext())
