"""The text that `fdbcore agree` prints about labels of calls: at most 100 columns."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fdbcore.analysis.label_agreement import LabelAgreement, RaterPair
from fdbcore.analysis.span_agreement import AgreementEstimate, EdgeErrors, KindAgreement
from fdbcore.report.format import MACHINE_MS, amount, counted, limits
from fdbcore.report.terminal import filled

COLUMNS: Final = 100
NAMED: Final = 3

_LEGEND: Final = (
    "pairs: moments that are each other's nearest and less than {paired_within_ms} ms apart; error and bias are second "
    "minus first. F1: both edges match within {tolerance_ms} ms. kappa (Cohen): over items that both labelled; an item "
    "is a stretch of overlapping contributions of a side. alpha (Krippendorff, nominal): over items that two or more "
    "labelled. For a run, speech over the other side is an interruption if it is longer than short_ms, otherwise a "
    "backchannel. Intervals: 95 %, over calls."
)


def screen(content: LabelAgreement) -> str:
    """The document of an agreement of labels as text, without a final newline."""
    n, others = len(content["calls"]), content["calls_not_labelled_by_all"]
    lines = [f"{counted(n, 'call')} labelled by all" + (f", {others:,} others not" if others else "")]
    for pair in content["pairs"]:
        lines += ["", *_pair(pair)]
    if (alpha := content["alpha"]) is not None:
        count = len(content["raters"])
        lines += ["", f"alpha of kinds {_value(alpha)} | {alpha['n']:,} items, {count} raters"]
    lines += ["", filled(_LEGEND.format(**content), COLUMNS), *_problems(content["problems"])]
    return "\n".join(lines)


def _pair(pair: RaterPair) -> Iterator[str]:
    yield f"first {_short(pair['first'])} | second {_short(pair['second'])}"
    if not pair["spans"] and pair["kinds"] is None:
        yield "  there is no kind that both have labelled"
    for kind, found in pair["spans"].items():
        first, second = found["n"]
        sides = "+".join(found["sides"])
        yield f"  {kind.replace('_', ' '):<13}{sides:<4}{first:,} and {second:,} | F1 {_value(found['f1'])}"
        edges = (("moment", found.get("moment")), ("onset", found.get("onset")), ("offset", found.get("offset")))
        yield from (_edge(name, errors) for name, errors in edges if errors is not None)
    if pair["kinds"] is not None:
        yield from _kinds(pair["kinds"])


def _edge(name: str, found: EdgeErrors) -> str:
    parts = [f"error {_ms(found['median_ms'])}", f"p90 {_ms(found['p90_ms'])}", f"bias {_ms(found['bias_ms'], '+')}"]
    return f"    {name:<13}{found['pairs']:>6,} pairs | " + " | ".join(parts)


def _kinds(found: KindAgreement) -> Iterator[str]:
    both, first, second = found["labelled_by_both"], found["only_first"], found["only_second"]
    items = f"{both:,} items of both, {first:,} only first, {second:,} only second"
    yield f"  kinds         kappa {_value(found['kappa'])} | {items}"
    names = [name.replace("_", " ") for name in found["kinds"]]
    width = max(map(len, names))
    yield f"    {'first, second':<{width + 2}}" + "".join(f"{name:>{width + 1}}" for name in names)
    for name, row in zip(names, found["confusion"], strict=True):
        yield f"    {name:<{width + 2}}" + "".join(f"{count or '.':>{width + 1}}" for count in row)


def _value(estimate: AgreementEstimate) -> str:
    if estimate["value"] is None:
        return "not given" + (f" ({estimate['reason']})" if estimate["reason"] else "")
    limits = f" [{', '.join(f'{limit:.3f}' for limit in estimate['ci95'])}]" if estimate["ci95"] else ""
    return f"{estimate['value']:.3f}{limits}"


def _ms(estimate: AgreementEstimate, sign: str = "") -> str:
    if estimate["value"] is None:
        return "none"
    found = [amount(estimate["value"], MACHINE_MS, sign), limits(estimate["ci95"], MACHINE_MS, sign)]
    return " ".join(filter(None, found))


def _problems(problems: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if problems:
        yield ""
    for what, names in problems.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        yield filled(f"!! {what}: {len(names):,}: {'; '.join(names[:NAMED])}{more}", COLUMNS, "   ")


def _short(path: str) -> str:
    return Path(path).name or path
