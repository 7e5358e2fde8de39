"""`fdbcore agree` for ratings of dialogues: draws a sample, or compares who rated it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from fdbcore.errors import SettingsError
from fdbcore.suites.staged.fdb2.published import published
from fdbcore.suites.staged.rating.agreement import rating_agreement
from fdbcore.suites.staged.rating.agreement_screen import sample_screen, screen
from fdbcore.suites.staged.rating.ratings import DialogueRater, Ratings, is_ratings, judge_of, read_ratings
from fdbcore.suites.staged.rating.sample import draw_sample, read_key, scores_in

DEFAULT_SAMPLE: Final = Path("fdbcore-sample")


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """See `fdbcore.protocols.suite.Suite.agree`."""
    if (n := options["sample"]) is not None:
        out: Path = options["out"] or DEFAULT_SAMPLE
        drawn = draw_sample(paths, n, options["sample_seed"], out)
        return {**drawn, "problems": []}, sample_screen(drawn, str(out), width)
    tables = [path for path in paths if is_ratings(path)]
    found = read_ratings(tables)
    raters = [*found.raters.values(), *_judges([path for path in paths if path not in tables], options["key"], found)]
    if len(raters) < 2:
        names = ", ".join(each.name for each in raters) or "nobody"
        raise SettingsError(f"expected the ratings of two raters or more, got those of {names}")
    content = rating_agreement(raters, found.problems, show)
    text = screen(content, width, published() if options["published"] else None)
    return cast("Mapping[str, Any]", content), text


def _judges(paths: Sequence[Path], key_path: Path | None, ratings: Ratings) -> list[DialogueRater]:
    """The judges of scores. Beside people they need the key, which says whose dialogues the people rated."""
    key = None if key_path is None else read_key(key_path)
    if key is not None and (others := ratings.samples - {key["sample"]}):
        raise SettingsError(f"--key: expected the key of the sample {others.pop()}, got that of {key['sample']}")
    judges: list[DialogueRater] = []
    for path in paths:
        if (scores := scores_in(path)) is None:
            expected = "ratings (CSV with a column dialogue), or scores by fdbcore score --suite staged --judge"
            raise SettingsError(f"{path}: expected {expected}, got something else")
        if key is None and ratings.raters:
            raise SettingsError("--key: expected the folder of the sample, which tells the dialogues apart, got none")
        judge = judge_of(scores, path, key, ratings.problems)
        if judge.name in {each.name for each in judges} | ratings.raters.keys():
            judge.name = f"{judge.name} ({path})"
        judges.append(judge)
    return judges
