"""The dialogue-act benchmark as a `Suite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from fdbcore.errors import SettingsError
from fdbcore.protocols import UsesServers
from fdbcore.protocols.suite import Labels, Show, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, TRANSCRIBER
from fdbcore.suites.dialogue_acts.commands import COMMANDS
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import ExpectedUse

SUFFIX: Final = ".jsonl"
ENGLISH: Final = "en"
LOCALE: Final = Option("--locale", "Stop if the set has another locale; with --turns: of the calls.", metavar="LOCALE")
DATA_OPTIONS: Final = (
    Option("--prompts", "Ask the systems by the prompts in this folder [default: those of the set].", metavar="DIR"),
    LOCALE,
)
SCORE_OPTIONS: Final = (
    Option("--references", "Records with good replies, a set each [default: of the run].", "path", None, "FILE", True),
    Option("--annotator", "Label replies and references with this model.", "text", None, "[SET=]VENDOR:NAME", True),
    replace(TRANSCRIBER, several=False, was="--asr"),
    Option("--turns", "Annotate every turn of any calls; --references is then a table of turns.", "flag"),
    Option("--whole-call", "Take all that a live party said in its call for the reply.", "flag"),
    replace(REPEATS, help="Annotations of each reply, and verdicts of the judge on it."),
    JUDGE,
    MAX_COST,
    Option("--prompts", "Annotate by the prompts in this folder; paper: by the paper's.", "path", metavar="DIR"),
    LOCALE,
    Option("--as-given", "Take importances as they are, whatever they sum to.", "flag"),
    Option("--unmerged", "Leave neighbouring steps of one act apart, as the paper does.", "flag"),
    Option("--first-reference", "Score against the first good reply of a record alone.", "flag"),
    Option("--partial-credit", "Let swaps of related acts cost less, as the tag set says.", "flag"),
    Option("--page-language", "The language of the page: en or ja.", default=ENGLISH, metavar="LANGUAGE"),
    PUBLISHED,
)
AGREE_OPTIONS: Final = (
    Option("--a", "Acts: whose in FIRST, where it has those of several.", metavar="NAME"),
    Option("--b", "Acts: whose in SECOND.", metavar="NAME"),
    Option("--prompts", "Acts: the folder with their tag set [default: that of FIRST].", kind="path", metavar="DIR"),
    Option("--as-given", "Acts: take importances as they are, whatever they sum to.", kind="flag"),
)


def _holds_labels(path: Path) -> bool:
    """Files of responses and of records, by their suffix, and tables of ratings, by their header."""
    from fdbcore.suites.dialogue_acts.agree.ratings import holds_ratings

    return path.suffix == SUFFIX or holds_ratings(path)


def _agree(paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Show) -> tuple[Mapping[str, Any], str]:
    """Compares two annotators, by their files of responses or records; or ratings by people with scores."""
    from fdbcore.suites.dialogue_acts.agree.agreement import acts_screen, agreement, read_labels
    from fdbcore.suites.dialogue_acts.agree.ratings import holds_ratings, rating_agreement, ratings_screen
    from fdbcore.suites.dialogue_acts.models.prompts import folder_of
    from fdbcore.suites.dialogue_acts.sets import prompts_in
    from fdbcore.suites.dialogue_acts.tag_sets import tags_in

    if any(map(holds_ratings, paths)):
        rated = to_builtins(rating_agreement(paths, show))
        return rated, ratings_screen(rated, width)
    if len(paths) != 2 or any(path.suffix != SUFFIX for path in paths):
        raise SettingsError(f"expected two {SUFFIX} files of dialogue acts, got {', '.join(map(str, paths))}")
    tags = tags_in(folder_of(options["prompts"]) or prompts_in(paths[0].parent))
    a, problems_a = read_labels(paths[0], options["a"], options["as_given"], tags)
    b, problems_b = read_labels(paths[1], options["b"], options["as_given"], tags)
    content = to_builtins(agreement(a, b, [*problems_a, *problems_b], tags=tags.without_credit))
    return content, acts_screen(content, width)


class DialogueActs(Suite):
    """Records with reference replies; recorded users on side A; replies as sequences of weighted dialogue acts."""

    name = "dialogue-acts"
    schema = "fdbcore.dialogue_acts/2"
    scores_runs = False
    commands = COMMANDS
    options = SuiteOptions(data=DATA_OPTIONS, score=SCORE_OPTIONS, agree=AGREE_OPTIONS)
    labels = Labels(
        "files of dialogue acts, which end in .jsonl, and tables with ratings of replies", _holds_labels, _agree
    )

    def ship(self, folder: Path, options: Mapping[str, Any], show: Show) -> None:
        """The shipped set; Open JTalk speaks what has not been spoken yet."""
        from fdbcore.suites.dialogue_acts.writing.speak import shipped

        shipped(folder, show)

    def side_a(self, data: str) -> SideA:
        """The users of a data set, as `fdbcore dataset speak` left them; see `speak.side_a` for the settings."""
        from fdbcore.suites.dialogue_acts.writing.speak import side_a

        return side_a(data)

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Scores files of responses, and runs; a response belongs to the set that has its id."""
        from fdbcore.suites.dialogue_acts.inputs import score

        return score(paths, options, jobs, out, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
    ) -> Sequence[ExpectedUse]:
        """Of the transcriber, of the annotators and of the judges."""
        from fdbcore.suites.dialogue_acts.inputs import expected

        return list(expected(paths, options, out))

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        """The annotators, of which some are known by the sets alone, the judges and the transcriber."""
        from fdbcore.suites.dialogue_acts.inputs import asked

        return asked(paths, options)

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a set as one annotator labels it, or a side of calls without good replies."""
        from fdbcore.suites.dialogue_acts.page.card import card
        from fdbcore.suites.dialogue_acts.page.section import ActsViews
        from fdbcore.suites.dialogue_acts.scoring.document import read
        from fdbcore.suites.dialogue_acts.turns import view

        found = read(document)
        made = view.card(found) if found.turns and not found.settings.annotators else card(found)
        return replace(made, views=ActsViews(found))


SUITE: Final = DialogueActs()
