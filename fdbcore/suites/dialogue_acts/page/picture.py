"""Draws one alignment to explain its score: the reference above, the reply below, and what each step costs.

Below it stand a judge's verdict, where the reply lies in its call, and each act with its words and its annotator's
reason.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from fdbcore.report import drawing as svg_drawing
from fdbcore.report import number, static, text_lines, width_em, wrap, xml
from fdbcore.report import standalone as svg_file
from fdbcore.suites.dialogue_acts.page.phrases import OPERATIONS, PACKAGE, acts_of, headline, reasons, sayer, weight
from fdbcore.suites.dialogue_acts.records import LiveReply, Step
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem, ContentVerdict
from fdbcore.suites.dialogue_acts.tag_sets import TagJson, TagSet, paper_acts, parsed
from fdbcore.types.scorecard import ScoredCase

WIDTH: Final = 420
MARGIN: Final = 6
ROW: Final = WIDTH - 2 * MARGIN  # width of 1.00, unless a row or the cost needs more
BLOCK_HEIGHT, GAP, COST_HEIGHT = 38, 58, 20
SAID_PX, TEXT_PX, NAME_PX, WEIGHT_PX = 14, 13, 12, 11
PADDING: Final = 6
BOLD: Final = 1.15  # of the width of regular letters
IN_WORDS: Final = {"before": "before the user's turn", "further": "in a further turn", "aside": "aside"}
UNKNOWN: Final = "(words not known)"
NO_QUOTE: Final = "(what the annotator quotes is not in the reply)"
DEFINITIONS: Final = (
    "".join(
        f'<pattern id="acts-hatch-{where}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path class="hatch {where}" d="M0 0V6"/></pattern>'
        for where in ("on-act", "on-page")
    )
    + '<pattern id="acts-dots" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle class="dot" cx="2.5" cy="2.5" r="1"/></pattern>'
)
"""The patterns that drawings refer to."""


class Block(NamedTuple):
    """An act in a row, from x to x + width. operation: what happened to it."""

    act: str
    importance: float
    x: float
    width: float
    operation: str


Path: TypeAlias = Sequence[tuple[float, Block | None, Block | None]]
"""Of each step of an alignment its cost, and the acts of the reference and of the reply that it takes."""


def view(case: ScoredCase) -> str:
    """The view of a case on the page, as HTML: the background of the user, and the picture."""
    item: ActsItem = case.item["item"]
    background = item.background
    about = f'<p class="note" lang="{xml(case.lang)}">{xml(background)}</p>' if background else ""
    drawn = picture(item, case.lang, parsed(case.item["tag_set"]), sayer(case.item["language"]))
    verdict, live = item.response.verdict, item.response.live
    judged = verdict_view(verdict, case.lang) if verdict else ""
    return about + drawn + judged + (live_view(live) if live else "") + why(item, case.lang)


def picture(item: ActsItem, lang: str = "ja", tags: TagSet | None = None, say: Callable[[str], str] = str) -> str:
    """The alignment of one item of a scores document as an svg element (see `report.svg.text`).

    The acts of the reference stand above those of the reply, in order; their widths show their importance. A kept act
    is linked to its counterpart; the link of a swapped act is dotted. A missing act (dashed) and a redundant act
    (hatched) have no link. The bar at the bottom puts all costs end to end: its length is the distance (WED).
    say: says a sentence in the language of the page.
    """
    title, why_so = say(headline(item)), [say(reason) for reason in reasons(item)]
    pen = _Pen(tags or paper_acts(), lang)
    sums = [sum(step.importance for step in steps) for steps in acts_of(item)]
    unit = float(ROW / max(1.0, item.scores["wed"], *sums))  # the width of 1.00 at which the longest row fits
    of_reference = {step.reference_index: OPERATIONS[step.operation] for step in item.path}
    of_reply = {step.prediction_index: OPERATIONS[step.operation] for step in item.path}
    reference = _blocks(item.reference.steps, of_reference, unit)
    reply = _blocks(item.response.steps, of_reply, unit)
    pen.said("The user", item.user)
    index = item.reference.index
    pen.said(f"A good reply{f' (reference {index + 1})' if index else ''}", item.reference.text)
    pen.row(reference)
    path = [
        (
            step.cost,
            None if step.reference_index is None else reference[step.reference_index],
            None if step.prediction_index is None else reply[step.prediction_index],
        )
        for step in item.path
    ]
    pen.links(path)
    pen.row(reply)
    pen.said(f"The reply of {item.system}", item.response.text)
    pen.costs(path, unit, title)
    for sentence in why_so:
        pen.sentence(sentence)
    described = " ".join([say(f"{headline(item)}."), *why_so])
    return drawing("".join(pen.parts), WIDTH, pen.y + MARGIN, described, "picture")


def _blocks(steps: Sequence[Step], became: Mapping[int | None, str], unit: float) -> list[Block]:
    starts = accumulate((step.importance * unit for step in steps), initial=float(MARGIN))
    return [
        Block(step.act, step.importance, x, step.importance * unit, became[index])
        for index, (step, x) in enumerate(zip(steps, starts, strict=False))
    ]


class _Pen:
    """Draws from top to bottom: `y` is where the next part begins."""

    def __init__(self, tags: TagSet, lang: str) -> None:
        self.tags = tags
        self.lang = lang
        self.parts: list[str] = []
        self.y = 0.0

    def said(self, who: str, text: str | None) -> None:
        """Draw the words of a side, over as many lines as needed."""
        self.parts.append(text_lines([who], MARGIN, self.y + 15, 0, "caption"))
        if text is None:
            self._lines(["(no reply)"], "muted", self.y + 32, 18)
        else:
            self._lines(wrap(text, ROW / SAID_PX - 1), "said", self.y + 33, 19, self.lang)

    def sentence(self, text: str) -> None:
        """An explaining sentence."""
        self._lines(wrap(text, ROW / TEXT_PX - 1), "reason", self.y + 15, 17)

    def _lines(self, lines: Sequence[str], css: str, baseline: float, leading: float, lang: str = "") -> None:
        self.parts.append(text_lines(lines, MARGIN, baseline, leading, css, lang))
        self.y = baseline + (len(lines) - 1) * leading + 8

    def row(self, blocks: Sequence[Block]) -> None:
        """The acts of one side."""
        self.parts += [_block(block, self.tags.by_name[block.act], self.y) for block in blocks]
        self.y += BLOCK_HEIGHT

    def links(self, path: Path) -> None:
        """Between the rows: which acts belong together, and what each step costs."""
        top, bottom = self.y, self.y + GAP
        for cost, above, below in path:
            if above and below:
                colour = self.tags.by_name[above.act]["colour"]
                self.parts.append(_link(above, below, colour, top, bottom, cost))
            elif above:
                self.parts.append(_fitting(above, ("missing {}", "{}"), cost, top + 15))
            elif below:
                self.parts.append(_fitting(below, ("redundant {}", "{}"), cost, bottom - 7))
        self.y = bottom

    def costs(self, path: Path, unit: float, title: str) -> None:
        """The costs end to end: all of a missing or redundant act; of two swapped acts half of each, or less for
        related ones.
        """
        self.parts.append(f'<path class="rule" d="M{MARGIN} {number(self.y + 4)}H{MARGIN + ROW}"/>')
        self._lines(wrap(title, ROW / (BOLD * TEXT_PX)), "strong", self.y + 22, 17)
        x = float(MARGIN)
        for of_step, *ends in path:
            sides = [block for block in ends if block]
            whole = sum(block.importance for block in sides)
            for block in sides if of_step else ():
                cost = of_step * block.importance / whole
                text, width = weight(cost), cost * unit
                place = f'x="{number(x + width / 2)}" y="{number(self.y + 14)}"'
                label = f'<text class="weight" {place}>{text}</text>' if _fits(text, WEIGHT_PX, width - PADDING) else ""
                colour = self.tags.by_name[block.act]["colour"]
                self.parts.append(_piece(block, colour, x, width, self.y, COST_HEIGHT, "", label))
                x += width
        self.y += COST_HEIGHT + 6 if x > MARGIN else 0


def _block(block: Block, tag: TagJson, y: float) -> str:
    title = f"{block.act} {weight(block.importance)}, {block.operation}"
    middle, room = block.x + block.width / 2, block.width - PADDING
    name = next((name for name in (tag["name"], tag["short"]) if _fits(name, NAME_PX, room)), "")
    value = weight(block.importance)
    texts = f'<text class="name" x="{number(middle)}" y="{number(y + 17)}">{xml(name)}</text>' if name else ""
    if _fits(value, WEIGHT_PX, room):
        texts += f'<text class="weight" x="{number(middle)}" y="{number(y + (31 if name else 24))}">{value}</text>'
    return _piece(block, tag["colour"], block.x, block.width, y, BLOCK_HEIGHT, title, texts)


def _piece(
    block: Block, colour: str, x: float, width: float, y: float, height: float, title: str = "", texts: str = ""
) -> str:
    """A piece of an act in its colour, with the sign of what happened to it."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    by = min(2.0, width / 4)  # the frame has space to its neighbours
    size = f'width="{number(width - 2 * by)}" height="{number(height - 4)}"'
    inner = f'x="{number(x + by)}" y="{number(y + 2)}" {size}'
    described = f"<title>{xml(title)}</title>" if title else ""
    over = "" if block.operation == "kept" else f'<rect class="over" {inner}/>'
    fill = f'<rect class="fill" fill="{xml(colour)}" {place}/>'
    return f'<g class="block {block.operation}">{described}{fill}{over}{texts}</g>'


def _link(above: Block, below: Block, colour: str, top: float, bottom: float, cost: float) -> str:
    same = above.act == below.act
    looks = f'class="link match" fill="{xml(colour)}"' if same else 'class="link swap"'
    left, right, low_left, low_right = above.x + 1, above.x + above.width - 1, below.x + 1, below.x + below.width - 1
    middle = (top + bottom) / 2
    outline = (
        f"M{number(left)} {number(top)}C{number(left)} {number(middle)} {number(low_left)} {number(middle)} "
        f"{number(low_left)} {number(bottom)}H{number(low_right)}C{number(low_right)} {number(middle)} "
        f"{number(right)} {number(middle)} {number(right)} {number(top)}Z"
    )
    halfway = Block(above.act, 0, (left + low_left) / 2, (right - left + low_right - low_left) / 2, "")
    texts = ("same act", "=") if same else ("swapped {}", "{}")
    return f'<path {looks} d="{outline}"/>' + _fitting(halfway, texts, cost, middle + 4)


def _fitting(block: Block, texts: Sequence[str], cost: float, y: float) -> str:
    """The first of the texts that fits into the block, centred in it."""
    filled = [text.format(weight(cost)) for text in texts]
    text = next((text for text in filled if _fits(text, NAME_PX, block.width + PADDING)), "")
    x = number(block.x + block.width / 2)
    return f'<text class="cost middle" x="{x}" y="{number(y)}">{xml(text)}</text>' if text else ""


def _fits(text: str, size_px: float, room: float) -> bool:
    return BOLD * width_em(text) * size_px <= room


def act_list(steps: Sequence[Step], lang: str) -> str:
    """The acts in their order, as HTML. lang: of words and reasons. Words that are no quote are not shown as one."""
    return f'<ol class="told">{"".join(_told(step, lang) for step in steps)}</ol>'


def why(item: ActsItem, lang: str) -> str:
    """The words and the reason of each act of both sides, as HTML; "" if an annotator gave neither."""
    asked, given = acts_of(item)
    sides = {"the good reply": asked, f"the reply of {item.system}": given}
    parts = [
        f"<p>Acts of {xml(who)}</p>{act_list(steps, lang)}"
        for who, steps in sides.items()
        if any(step.words or step.rationale for step in steps)
    ]
    heading = "Which words each act stands for, and why"
    return f'<details class="why" open><summary>{heading}</summary>{"".join(parts)}</details>' if parts else ""


def verdict_view(verdict: ContentVerdict, lang: str) -> str:
    """The judge's verdict on the content, as HTML. lang: of its reason."""
    found = {True: "right", False: "not right", None: "unscored"}[verdict.right]
    reason = f': <span lang="{xml(lang)}">{xml(verdict.reason)}</span>' if verdict.reason else ""
    return f"<p>Content, by the judge: <b>{found}</b>{reason}</p>"


def live_view(live: LiveReply) -> str:
    """The place of a reply in its call, and what else was said there, as HTML."""
    lines = []
    if live.start_s is not None and live.end_s is not None:
        after, seconds = "", live.after_s
        if seconds is not None:
            after = f", {abs(seconds):.2f} s {'before the user' if seconds < 0 else 'after the user'}'s turn"
            after += " ended" if seconds < 0 else ""
        lines.append(f"The reply is at {live.start_s:.2f} to {live.end_s:.2f} s of the call{after}.")
    lines += [
        f"Not scored, {IN_WORDS.get(each.part, each.part)}, {each.start_s:.2f} to {each.end_s:.2f} s: "
        f"{each.text or UNKNOWN}"
        for each in live.apart
    ]
    return "".join(f'<p class="note">{xml(line)}</p>' for line in lines)


def _told(step: Step, lang: str) -> str:
    parts = [f"<b>{xml(step.act)} {weight(step.importance)}</b>"]
    if step.words:
        parts.append(f'<q lang="{xml(lang)}">{xml(step.words)}</q>' if step.is_quote else f"<em>{NO_QUOTE}</em>")
    if step.rationale:
        parts.append(f'<span class="meaning" lang="{xml(lang)}">{xml(step.rationale)}</span>')
    return f"<li>{' '.join(parts)}</li>"


def drawing(content: str, width: float, height: float, description: str, css: str) -> str:
    """An svg element for a page that has `style()` and `definitions()`."""
    return svg_drawing(content, width, height, description, f"acts {css}")


def definitions() -> str:
    """The patterns that drawings refer to, once per page. They are not hidden: browsers would drop them."""
    return f'<svg class="acts" width="0" height="0" aria-hidden="true"><defs>{DEFINITIONS}</defs></svg>'


def standalone(drawn: str) -> str:
    """The svg element of `drawing` as a file for a paper, on white."""
    return svg_file(drawn, static("picture.css", PACKAGE), DEFINITIONS)


def style() -> str:
    """The style sheet of the drawings in a page, for light and dark."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{static('picture-dark.css', PACKAGE)}}}\n"
    return f"{static('picture.css', PACKAGE)}\n{dark}"
