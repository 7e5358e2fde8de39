"""The summary that `fdbcore replay` prints: plain text, at most 100 columns, every count with its denominator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill, wrap
from typing import Any, Final

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.labelled import stop_share
from fdbcore.measures.moments import worst_moments
from fdbcore.recording import Recording
from fdbcore.report.cautions import cautions
from fdbcore.report.certificate import disturbances, replay_text, verdict
from fdbcore.report.document import document, told_first
from fdbcore.report.health import health_text
from fdbcore.report.layout import laid_out, shortened, shortened_at_end
from fdbcore.report.words import (
    ITEMS_FOR_P90,
    by_chance,
    clock_text,
    length_text,
    long_onsets,
    number_text,
    origins,
    seconds_text,
    title,
    vad_bias_text,
    vad_text,
)
from fdbcore.score import read_scores
from fdbcore.types import TICKS_PER_S, TurnSettings, ticks_to_s

COLUMNS: Final = 100
NAME_COLUMNS: Final = 20
LABEL_COLUMNS: Final = 17
TABLE_COLUMNS: Final = 72
REMARK_COLUMNS: Final = 30
WORST: Final = 2

Measures = Mapping[str, Mapping[str, Any]]


def screen(recording: Recording, scores: Mapping[str, Any], columns: int = COLUMNS) -> str:
    """The screen of one session, several lines without a newline at the end. `scores`: as `score` returns them."""
    lines = [header(recording), *(f"!! {text}" for text in told_first(scores))]
    lines += [_labelled("health", text) for text in [health_text(document(recording, scores))] if text]
    reason = scores.get("unscored")
    lines += [_labelled("not scored", reason)] if reason else _figures(recording, scores)
    lines += _held(recording, scores)
    bias = vad_bias_text(recording.meta["settings"])
    if bias:
        lines.append(_labelled("VAD bias", f"{bias} (it shifts every latency)"))
    indent = " " * LABEL_COLUMNS
    return "\n".join(fill(line, columns, subsequent_indent=indent, break_on_hyphens=False) for line in lines)


def _figures(recording: Recording, scores: Mapping[str, Any]) -> list[str]:
    measures = scores["measures"]
    lines = []
    told, beside = _told(Dialogue.of(recording), measures), _told(Dialogue.with_echo(recording), with_echo(measures))
    for label, text in told.items():
        lines += [_labelled(label, text)] if text else []
        lines += [_labelled("  with echo", beside[label])] if beside[label] != text else []
    return [*lines, _labelled("worst", _worst(recording, scores))]


def _told(dialogue: Dialogue, measures: Measures) -> dict[str, str]:
    """The lines of figures by their labels; empty for one that has nothing to say. measures: those of the dialogue."""
    return {
        "B answers": _answers(dialogue, measures),
        "A speaks over B": _over(measures),
        "B speaks over A": _over_a_and_silence(dialogue.settings, measures),
        "by your labels": by_labels(measures),
    }


def with_echo(measures: Measures) -> Measures:
    """The same measures where echo counts as speech."""
    return {name: summary.get("with_echo", summary) for name, summary in measures.items()}


def _held(recording: Recording, scores: Mapping[str, Any]) -> list[str]:
    """How well in time a conversation was held, and whether a replay of it gave the same."""
    content = document(recording, scores)
    if content["held"] is None:
        return []
    replayed, disturbed = replay_text(content), disturbances(content)
    lines = [_labelled("timing", " | ".join(filter(None, [verdict(content), disturbed])))]
    return lines + ([_labelled("replay", replayed)] if replayed else [])


def run_screen(recordings: Sequence[Recording], pooled: Measures, columns: int = COLUMNS) -> str:
    """One line a session, and the figures of all that were scored. `pooled`: the measures of their `summary`."""
    head = f"{len(recordings)} session{'s' if len(recordings) != 1 else ''}, {clock_text(_seconds(recordings))}"
    rows = [["session", "length", "answered", "median", "early", "none", "stopped", "lapses", "worst"]]
    scored = []
    for recording in recordings:
        scores = read_scores(recording)
        measures, reason = scores["measures"], scores.get("unscored")
        if reason:
            rows.append([recording.name, length_text(recording), *[""] * (len(rows[0]) - 3), f"!! {reason}"])
        else:
            scored.append(recording)
            rows.append(_session_row(recording.name, length_text(recording), measures, _remark(recording, scores)))
    if not scored:
        return "\n".join([head, *_lines(rows, columns), "no session could be scored"])
    failed = sum((recording.as_held.get("outcome") or {}).get("kind") == "failed" for recording in scored)
    head += f"; {failed} of {len(scored)} scored ones failed, and count as far as they went" if failed else ""
    rows.append(_session_row("all" if scored == recordings else "scored", clock_text(_seconds(scored)), pooled, ""))
    beside = with_echo(pooled)
    rows += [_session_row("  with echo", "", beside, "")] if beside != pooled else []
    notes = [
        f"median answer time {_with_interval(pooled['response_latency_ms'])}",
        f"answered {_with_interval(pooled['answered_per_turn'])}",
        *(f"!! {text}" for text in cautions({"": pooled})),
        *([fill(f"by your labels: {found}", COLUMNS, subsequent_indent="  ")] if (found := by_labels(pooled)) else []),
        "early: cut off by B | none: no answer | stopped: B, when A spoke over it | lapses: long silences",
    ]
    beneath = (line for note in notes for line in wrap(note, columns))
    return "\n".join(
        [
            head,
            *(line for text in _amiss(scored, columns) for line in wrap(text, columns)),
            *_lines(rows, columns),
            *beneath,
        ]
    )


def _amiss(recordings: Sequence[Recording], columns: int) -> Iterator[str]:
    """What must be known of each session before any number, a line each."""
    for recording in recordings:
        name = _short(recording.name)
        yield from (f"!! {name}: {text}" for text in told_first(read_scores(recording)))
        if unhealthy := _unhealthy(recording):
            yield shortened_at_end(f"!! {name}: {unhealthy}", columns)


def _lines(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Rows as lines, each with its remark, the last of its cells, where there is room for it."""
    table = laid_out([row[:-1] for row in rows], max(columns - REMARK_COLUMNS, min(columns, TABLE_COLUMNS)))
    return [shortened_at_end(f"{line}  {row[-1]}".rstrip(), columns) for line, row in zip(table, rows, strict=True)]


def _unhealthy(recording: Recording) -> str:
    """What is wrong with the audio of a session; empty if nothing is."""
    health = recording.health
    if health is None or health["verdict"] == "ok":
        return ""
    return " | ".join(finding["text"] for finding in health["findings"])


def _seconds(recordings: Sequence[Recording]) -> float:
    return sum(ticks_to_s(recording.n_ticks) for recording in recordings)


def header(recording: Recording) -> str:
    """The name of a session, its length, where its sides come from, and what decided on speech."""
    places = "   ".join(f"{side} {_short(place)}" for side, place in origins(recording).items())
    vad = vad_text(recording.meta["settings"])
    return f"{_short(title(recording))} {length_text(recording)}   {places}   VAD {vad}, 10 ms"


def seconds(settings: TurnSettings, setting: str) -> str:
    """A setting of the turn detector in words: "10 s"."""
    value_ms: int = getattr(settings, setting)
    return f"{value_ms / 1000:g} s"


def _labelled(label: str, text: str) -> str:
    return f"{label:<{LABEL_COLUMNS}}{text}"


def _answers(dialogue: Dialogue, measures: Measures) -> str:
    latency, answered = measures["response_latency_ms"], measures["answered_per_turn"]
    last = f" | A's last turn: {last_turn(dialogue)}" if answered["excluded"].get("censored") else ""
    if not answered["n"]:
        return f"no finished turn of A to answer{last}"
    p90 = f"  p90 {seconds_text(latency['p90'])}" if latency["n"] >= ITEMS_FOR_P90 else ""
    without = measures.get("response_latency_minus_harness_ms")
    own = f" ({seconds_text(without['median'])} without the harness)" if without and without["n"] else ""
    spread = f"median {seconds_text(latency['median'])}{own}{p90}" if latency["n"] else "no answers"
    waits = measures["a_unanswered_wait_s"]["n"]
    went_on = f" (A waited > {seconds(dialogue.settings, 'lapse_ms')} and went on by itself {waits}x)" if waits else ""
    return (
        f"{_of(answered)}  {spread}"
        f" | premature {_of(measures['premature_per_turn'])}"
        f" | none within {seconds(dialogue.settings, 'response_window_ms')} {_of(measures['no_response_per_turn'])}"
        f"{went_on}{last}"
    )


def last_turn(dialogue: Dialogue) -> str:
    """Why A's last turn is not counted."""
    ends = {side: int(spans[-1, 1]) if len(spans) else 0 for side, spans in dialogue.ipus.items()}
    is_over = dialogue.n_ticks - ends["A"] >= dialogue.settings.ticks("min_silence_ms")
    return "unanswered, or hung up" if is_over and ends["A"] >= ends["B"] else "cut off by the end"


def _over(measures: Measures) -> str:
    """Long and short speech of A over B, and how often B stopped."""
    long, short = (measures[f"b_stopped_within_2s_per_{size}_a_onset"] for size in ("long", "short"))
    latency = measures["b_stop_latency_ms_per_long_a_onset"]
    at_once = measures["b_stopped_at_once_per_long_a_onset"]
    median = f", median {seconds_text(latency['median'])}" if latency["n"] else ""
    stopped = f"  B stopped {long['count']}{by_chance(long)}{median}" if long["n"] else ""
    fast = f" | stopped at once {at_once['count']}{by_chance(at_once)}" if at_once["count"] else ""
    stopped_short = f", B stopped for {short['count']}" if short["n"] else ""
    return f"{long_onsets(measures, 'A')}{stopped}{fast} | short ones {short['n']}{stopped_short}"


def _over_a_and_silence(settings: TurnSettings, measures: Measures) -> str:
    short = measures["a_stopped_within_2s_per_short_b_onset"]["n"]
    lapses, first = measures["lapse_s"], measures["b_initial_silence_s"]
    longest = f", longest {lapses['max']:.1f} s" if lapses["n"] else ""
    limit = seconds(settings, "lapse_ms")
    start = f"B silent at start {first['median']:.1f} s" if first["n"] else "no speech of B"
    at_once = measures["a_stopped_at_once_per_long_b_onset"]
    fast = f" | A stopped at once {at_once['count']}{by_chance(at_once)}" if at_once["count"] else ""
    silent = f"both silent > {limit}: {lapses['n']}x{longest}"
    return f"{long_onsets(measures, 'B')}{fast} | short ones {short} | {silent} | {start}"


def by_labels(measures: Measures) -> str:
    """False cut-offs, answers, and what B stops for, as far as there are labels for them; empty if there are none."""
    cut_off = measures.get("cut_off_per_labelled_a_pause")
    latency = measures.get("response_latency_ms_per_labelled_turn_end")
    told = [f"B cut in {_of(cut_off)} pauses of A"] if cut_off else []
    if latency:
        answered = f"answered {_of(measures['answered_per_labelled_turn_end'])} turn ends"
        told.append(f"{answered}, median {seconds_text(latency['median'])}" if latency["n"] else answered)
    stops = {kind: measures.get(stop_share(kind)) for kind in ("interruption", "distraction")}
    told += [f"B stopped for {_of(share)} {kind}s" for kind, share in stops.items() if share and share["n"]]
    if selectivity := measures.get("b_selectivity"):
        limits = f" [{', '.join(f'{x:.2f}' for x in selectivity['ci95'])}]" if selectivity["ci95"] else ""
        told.append(f"selectivity {selectivity['mean']:.2f}{limits}")
    return " | ".join(told)


def _worst(recording: Recording, scores: Mapping[str, Any]) -> str:
    found = worst_moments(recording)[:WORST]
    if not found:
        return "no single moment" if scores["findings"] else "nothing out of the ordinary"
    listed = "   ".join(f"{clock_text(m.start_tick / TICKS_PER_S)} {m.text}" for m in found)
    return f"{listed}   report.html#t={ticks_to_s(found[0].start_tick):g}"


def _remark(recording: Recording, scores: Mapping[str, Any]) -> str:
    """What must be known before any number, or else the worst moment."""
    if first := told_first(scores):
        return f"!! {first[0]}"
    found = worst_moments(recording)
    return f"{clock_text(found[0].start_tick / TICKS_PER_S)} {found[0].text}" if found else ""


def _session_row(name: str, length: str, measures: Measures, worst: str) -> list[str]:
    latency = measures["response_latency_ms"]
    return [
        name,
        length,
        _of(measures["answered_per_turn"]),
        seconds_text(latency["median"]),
        _of(measures["premature_per_turn"]),
        _of(measures["no_response_per_turn"]),
        _of(measures["b_stopped_within_2s_per_long_a_onset"]),
        f"{measures['lapse_s']['n']}x",
        worst,
    ]


def _of(share: Mapping[str, Any]) -> str:
    return f"{share['count']}/{share['n']}"


def _with_interval(summary: Mapping[str, Any]) -> str:
    """The headline of a summary with its interval: "0.82 s [0.74, 0.91]", n = 34."""
    value = summary["mean"] if summary["unit"] == "share" else summary["median"]
    scale, unit = (1.0, "share") if summary["unit"] == "share" else (0.001, "s")
    suffix = " %" if unit == "share" else " s"
    if value is None:
        return "no items"
    interval = summary["ci95"]
    limits = f" [{', '.join(number_text(limit * scale, unit) for limit in interval)}]" if interval else ""
    return f"{number_text(value * scale, unit)}{suffix}{limits}, n = {summary['n']}"


def _short(text: str) -> str:
    return shortened(text, NAME_COLUMNS)
