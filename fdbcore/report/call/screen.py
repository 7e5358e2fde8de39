"""The text that `fdbcore replay` prints: at most 100 columns, every count with its denominator."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fdbcore.analysis.cautions import cautions_of
from fdbcore.analysis.input_notes import standing_out
from fdbcore.analysis.score import read_scores
from fdbcore.analysis.summaries import Measures
from fdbcore.analysis.survey import CallRow, Survey
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.findings import ENDS_UNANSWERED
from fdbcore.measures.moments import one_of_each_kind_first
from fdbcore.measures.reading import Reading
from fdbcore.recording.meta import LineOfCall
from fdbcore.recording.reader import Recording
from fdbcore.report import columns as columns_of
from fdbcore.report.call.certificate import disturbances, muted_texts, replay_text, steps_texts, verdict
from fdbcore.report.call.document import Document, told_first
from fdbcore.report.call.health import health_text
from fdbcore.report.call.tools import tools_text
from fdbcore.report.format import clock_text, counted, length_text, measured_text, origins, title, vad_text
from fdbcore.report.html.values import NO_LINKS, Links
from fdbcore.report.run.findings import ends_unanswered
from fdbcore.report.spots import Spots
from fdbcore.report.terminal import LABEL_COLUMNS, filled, labelled, laid_out, shortened, shortened_at_end
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, ticks_to_s

COLUMNS: Final = 100
NAME_COLUMNS: Final = 20
REMARK_COLUMNS: Final = 36
WORST: Final = 2


def screen(reading: Reading, content: Document, columns: int = COLUMNS) -> str:
    """The text about one session, several lines without a final newline. content: its document."""
    indent = " " * LABEL_COLUMNS
    left_out = [("left out", " | ".join(span.brief for span in reading.left_out))] if reading.left_out else []
    return "\n".join(
        [
            filled(header(reading), columns, indent),
            *labelled(left_out, columns),
            *(filled(f"!! {text}", columns, indent) for text in told_first(content)),
            *labelled(_told(reading, content), columns),
        ]
    )


def _told(reading: Reading, content: Document) -> Iterator[tuple[str, str]]:
    """The lines of a session with their labels."""
    if text := health_text(content):
        yield "health", text
    if reason := content["unscored"]:
        yield "not scored", reason
    else:
        measures = content["measures"]
        counting_echo = in_words(with_echo(measures), reading.dialogue_with_echo).lines("call")
        yield from beside_echo(in_words(measures, reading.dialogue).lines("call"), counting_echo)
        yield "worst", _worst(reading, content)
    yield from _held(content)


def beside_echo(figures: Mapping[str, str], counting_echo: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Lines of figures by their labels; one that echo would change is followed by the changed one."""
    for label, text in figures.items():
        yield label, text
        if counting_echo.get(label, text) != text:
            yield "  with echo", counting_echo[label]


def with_echo(measures: Measures) -> Measures:
    """The same measures with echo counted as speech."""
    return {name: summary.get("with_echo", summary) for name, summary in measures.items()}


def _held(content: Document) -> Iterator[tuple[str, str]]:
    """The lines about the timing of a live call, its tool calls, and whether a replay gave the same results."""
    if content["held"] is None:
        return
    yield "timing", " | ".join(filter(None, [verdict(content), disturbances(content), *steps_texts(content)]))
    yield from (("muted", text) for text in muted_texts(content))
    if calls := tools_text(content):
        yield "tools", calls
    if line := content["held"].get("line"):
        yield "heard over", _line_text(line)
    if replayed := replay_text(content):
        yield "replay", replayed


def _line_text(line: LineOfCall) -> str:
    """The line over which each side heard the other, and how much later."""
    heard = []
    for way, text in (("to_b", "B heard A"), ("to_a", "A heard B")):
        if way in line:
            delay_ms = line[way]["delay_samples"] * 1000 / SAMPLE_RATE_HZ
            heard.append(f"{text} {delay_ms:.0f} ms later" if delay_ms else text)
    return f"{line['name']}: {', '.join(heard)}"


def run_screen(run: Survey, columns: int = COLUMNS) -> str:
    """One line per scored call, of which there must be one, and the figures of all of them."""
    length_s, measured_s = run.lengths_s
    pooled, failed = run.measures, 0
    rows = [["call", "length", *columns_of.titles(), "worst"]]
    for row in run.scored:
        reading = row.call.recording
        failed += bool(reading.outcome and reading.outcome.get("kind") == "failed")
        cells = columns_of.cells(read_scores(reading)["measures"])
        rows.append([row.call.name, clock_text(row.length_s or 0.0), *cells, _remark(row)])
    head = f"{counted(len(run.scored), 'call')}, {clock_text(length_s)}{measured_text(length_s, measured_s)}"
    head += f"; {failed} of {len(run.scored)} scored calls failed, and count as far as they went" if failed else ""
    rows.append(["all", clock_text(length_s), *columns_of.cells(pooled), ""])
    beside = with_echo(pooled)
    rows += [["  with echo", "", *columns_of.cells(beside), ""]] if beside != pooled else []
    notes = [
        *(filled(f"{label} {text}", COLUMNS, "  ") for label, text in Spots(pooled).lines("note").items()),
        *(f"!! {text}" for text in cautions_of({"": pooled})),
    ]
    strange = [f"!! {told}: {', '.join(names)}" for told, names in standing_out(run.heard).items()]
    warned = [*_unanswered(run), *strange, *_amiss(run, columns)]
    above, beneath = ([filled(text, columns) for text in texts] for texts in (warned, notes))
    return "\n".join([head, *above, *_lines(rows, columns), *beneath])


def _unanswered(run: Survey) -> Iterator[str]:
    """The number of several calls that end with A unanswered, if any does."""
    found = [each for row in run.scored for each in row.findings if each["id"] == ENDS_UNANSWERED]
    if found and len(run.scored) > 1:
        lengths_s = [ticks_to_s(each["end_tick"] - each["start_tick"]) for each in found]
        yield f"!! {ends_unanswered(lengths_s, len(run.scored))}"


def _amiss(run: Survey, columns: int) -> Iterator[str]:
    """One line for each thing that a reader must know about a call before any number."""
    for row in run.scored:
        name = _short(row.call.name)
        yield from (f"!! {name}: {text}" for text in _first_of(row))
        if row.health and row.health.verdict != "ok":
            unhealthy = " | ".join(finding.text for finding in row.health.findings)
            yield shortened_at_end(f"!! {name}: {unhealthy}", columns)


def _first_of(row: CallRow) -> list[str]:
    return [*(finding["text"] for finding in row.findings), *row.warnings]


def _lines(rows: Sequence[Sequence[str]], columns: int) -> Iterator[str]:
    """The rows as lines. The last cell of a row is a remark: after its last line, or below it if that is too long.

    So names are cut, and what was found is not.
    """
    cells, remarks = [row[:-1] for row in rows], [row[-1] for row in rows]
    table = laid_out(cells, columns - min(max(map(len, remarks)), REMARK_COLUMNS) - 2)
    is_beside = len(table) == len(rows)
    if not is_beside:
        table = laid_out(cells, columns)
        remarks[0] = ""
    yield from table[: -len(rows)]
    for line, remark in zip(table[-len(rows) :], remarks, strict=True):
        if is_beside or not remark:
            yield shortened_at_end(f"{line}  {remark}".rstrip(), columns)
        else:
            yield line
            yield shortened_at_end(f"  {remark}", columns)


def header(recording: Recording) -> str:
    """The title of a session, its length, the sources of its sides, and its voice activity detector."""
    places = "   ".join(f"{side} {place}" for side, place in origins(recording, _short).items())
    vad = vad_text(recording.meta["settings"])
    return f"{_short(title(recording))} {length_text(recording)}   {places}   VAD {vad}, 10 ms"


def in_words(measures: Measures, dialogue: Dialogue, link: Links = NO_LINKS) -> Spots:
    """The measures of a call in words."""
    return Spots(measures, dialogue.settings, lambda _: {"last_turn": last_turn(dialogue)}, link)


def last_turn(dialogue: Dialogue) -> str:
    """The reason why A's last turn does not count."""
    turns = [event for event in dialogue.events if event.kind == "turn" and event.side == "A" and event.censored]
    if any(dialogue.span_at(turn.start_tick)[1] < dialogue.n_ticks for turn in turns[-1:]):
        return "cut off where the measured part ends"
    ends = {side: int(spans[-1, 1]) if len(spans) else 0 for side, spans in dialogue.ipus.items()}
    is_over = dialogue.n_ticks - ends["A"] >= dialogue.settings.ticks("min_silence_ms")
    if dialogue.line == "cut":
        return "the call was cut at --max-s" if is_over else "cut off at --max-s"
    return "unanswered, or hung up" if is_over and ends["A"] >= ends["B"] else "cut off by the end"


def _worst(reading: Reading, scores: Document) -> str:
    found = one_of_each_kind_first(reading.moments)[:WORST]
    if not found:
        return "no single moment" if scores["findings"] else "nothing out of the ordinary"
    listed = "   ".join(f"{clock_text(m.start_tick / TICKS_PER_S)} {m.text}" for m in found)
    return f"{listed}   report.html#t={ticks_to_s(found[0].start_tick):g}"


def _remark(row: CallRow) -> str:
    """The first thing that a reader must know before any number, or else the worst moment."""
    if first := _first_of(row):
        return f"!! {first[0]}"
    return f"{clock_text(row.worst.start_tick / TICKS_PER_S)} {row.worst.text}" if row.worst else ""


def _short(text: str) -> str:
    return shortened(text, NAME_COLUMNS)
