"""Reads files of gates, the conditions that a release must meet: `premature_per_turn <= baseline + 0.02`."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from fdbcore.errors import InputError, nearest
from fdbcore.measures.catalogue import MEASURES, id_of
from fdbcore.runtime.toml_values import read_toml
from fdbcore.stats.bootstrap import ITEMS_BEYOND, LEVEL, Quantile, Statistic, mean

CannotTell: TypeAlias = Literal["pass", "fail", "error"]

DEFAULTS: Final = "defaults"
"""The name, in place of a path, of the limits that fdbcore ships: each with its source."""

NUMBER: Final = r"[0-9]{1,15}(?:\.[0-9]+)?"
LINE: Final = re.compile(
    rf"\s*(?P<measure>[^\s<>=][^<>=]*?)(?:\.(?P<statistic>\w+))?\s*(?P<relation><=|>=)\s*"
    rf"(?:(?P<baseline>baseline)\s*(?:\*\s*(?P<times>{NUMBER}))?\s*(?:(?P<sign>[+-])\s*(?P<plus>{NUMBER}))?"
    rf"|(?P<limit>-?{NUMBER}))\s*"
)
FORM: Final = "MEASURE[.median|.mean|.p90] <= LIMIT, where LIMIT is 900, baseline, baseline + 0.02 or baseline * 1.1"
_QUANTILE: Final = re.compile(r"p([0-9]{1,2}(?:\.[0-9]+)?)")


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition: the statistic of a measure is at most (or at least) `times` that of the baseline, plus `plus`.

    text: the condition as it is written, with the id of the measure. statistic: as it is written; "" for the default of
    the measure. times: 0 if the limit is the number `plus`. where: the values that columns of the calls must have.
    source: where the limit comes from, for readers.
    """

    text: str
    measure: str
    statistic: str
    at_most: bool
    times: float
    plus: float
    where: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def needs_baseline(self) -> bool:
        """True if the limit depends on the baseline."""
        return self.times != 0

    @property
    def function(self) -> Statistic | None:
        """The statistic as a function of the items; None for the default."""
        if self.statistic in ("", "median"):
            return None
        return mean if self.statistic == "mean" else Quantile(self.quantile)

    @property
    def quantile(self) -> float:
        """The quantile of the items that it limits, such as 0.9; 0.5 for all but quantiles."""
        return float(self.statistic[1:]) / 100 if _QUANTILE.fullmatch(self.statistic) else 0.5

    @property
    def items_for_a_pass(self) -> int:
        """The number of items that one call needs, so that its figure can pass: 10 for p90, 100 for p95, otherwise 0.

        With fewer, a quantile is hardly more than the largest item.
        """
        if not _QUANTILE.fullmatch(self.statistic):
            return 0
        one_beyond = math.ceil(round(1 / min(self.quantile, 1 - self.quantile), 6))
        return max(one_beyond, Quantile(self.quantile).items_needed(ITEMS_BEYOND))

    @property
    def about(self) -> str:
        """The calls that it is about, in words; "" for all."""
        return ", ".join(f"{column} = {value}" for column, value in self.where.items())

    @property
    def name(self) -> str:
        """Its text, with the calls that it concerns."""
        return f"{self.text} where {self.about}" if self.about else self.text


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of a file. level: the confidence level of all gates together. cannot_tell: what an undecided gate does
    to the exit code."""

    gates: tuple[Gate, ...]
    level: float = LEVEL
    cannot_tell: CannotTell = "error"

    @property
    def level_of_each(self) -> float:
        """The level of the interval of each gate, corrected for the number of gates (Bonferroni)."""
        return 1 - (1 - self.level) / len(self.gates)


def read_gates(path: Path) -> Gates:
    """The gates of a TOML file, or the shipped ones if `path` is DEFAULTS.

    Raises InputError, which names the file, the gate and what was expected.
    """
    if str(path) == DEFAULTS:
        limits = [(name, limit) for name, measure in MEASURES.items() for limit in measure.limits]
        shipped = [{"check": f"{name}{limit.check}", "source": limit.source} for name, limit in limits]
        return gates_of({"gates": shipped}, DEFAULTS)
    return gates_of(read_toml(path, InputError).values, str(path))


def gates_of(content: Mapping[str, Any], path: str) -> Gates:
    """The gates from the content of a TOML file. path: its name in error messages. Raises InputError."""
    _check_keys(content, ("gates", "level", "cannot_tell"), path)
    gates = content.get("gates")
    if not isinstance(gates, list) or not gates:
        raise InputError(f'{path}: expected gates = ["{FORM.split(",")[0]}", ...], got {gates!r}')
    level = content.get("level", LEVEL)
    if not isinstance(level, float) or not 0.5 <= level < 1:
        raise InputError(f"{path}: level: expected a number from 0.5 to below 1, got {level!r}")
    cannot_tell = content.get("cannot_tell", "error")
    if cannot_tell not in get_args(CannotTell):
        raise InputError(f"{path}: cannot_tell: expected one of {', '.join(get_args(CannotTell))}, got {cannot_tell!r}")
    parsed = tuple(_gate(gate, f"{path}: gate {number}") for number, gate in enumerate(gates, 1))
    return Gates(parsed, level, cannot_tell)


def _gate(given: object, place: str) -> Gate:
    if isinstance(given, str):
        return parse(given, {}, place)
    if not isinstance(given, Mapping):
        raise InputError(f"{place}: expected a line or a table with check, where and source, got {given!r}")
    _check_keys(given, ("check", "where", "source"), place)
    check, where, source = given.get("check"), given.get("where", {}), given.get("source", "")
    if not isinstance(check, str) or not isinstance(where, Mapping):
        raise InputError(f'{place}: expected check = "{FORM.split(",")[0]}" and where = {{column = "value"}}')
    if not isinstance(source, str):
        raise InputError(f"{place}: source: expected a text, got {source!r}")
    # Values as CSV files write them.
    values = {column: str(value).lower() if isinstance(value, bool) else str(value) for column, value in where.items()}
    return replace(parse(check, values, place), source=source)


def parse(text: str, where: Mapping[str, str], place: str) -> Gate:
    """The gate that a line states. place: named in error messages. Raises InputError for another form."""
    found = LINE.fullmatch(text)
    if found is None:
        raise InputError(f"{place}: expected {FORM}; got {text!r}")
    statistic = found["statistic"] or ""
    quantile = _QUANTILE.fullmatch(statistic)
    if statistic not in ("", "median", "mean") and not (quantile and float(quantile[1]) > 0):
        raise InputError(f"{place}: {text}: expected .median, .mean, or a quantile such as .p90, got .{statistic}")
    if found["baseline"]:
        times, plus = float(found["times"] or 1), float(f"{found['sign'] or ''}{found['plus'] or 0}")
    else:
        times, plus = 0.0, float(found["limit"])
    if found["times"] and not times:
        raise InputError(f"{place}: {text}: expected a factor above 0, got {found['times']}")
    measure = id_of(found["measure"]) or found["measure"]
    text = " ".join(f"{measure}{text[found.end('measure') :]}".split())
    return Gate(text, measure, statistic, found["relation"] == "<=", times, plus, where)


def _check_keys(given: Mapping[str, Any], known: Collection[str], place: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{place}: expected {', '.join(known)}, got {key}{nearest(key, known)}")
