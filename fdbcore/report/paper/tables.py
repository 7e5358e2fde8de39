"""Tables for a paper: Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_LATEX_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # after the end of a line it would be an argument
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "–": "--",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
_MINUS: Final = re.compile(r"\N{MINUS SIGN}|(?<![\w-])-(?=\d)|(?<= )-(?= )")
_PARAGRAPHS: Final = 0.8
"""The share of a page's width that columns of paragraphs have together."""

_MARKDOWN_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|~#!])")


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of texts under its caption. alignment: a letter a column, l, r, or p for paragraphs. label: to refer to
    it in LaTeX.
    """

    caption: str
    columns: Sequence[str]
    alignment: str
    rows: Sequence[Sequence[str]]
    label: str

    def markdown(self) -> str:
        """The table in Markdown; any text in it is text."""
        escaped = self._escaped(lambda text: _MARKDOWN_SPECIAL.sub(r"\\\1", text))
        rule = ["--:" if letter == "r" else ":--" for letter in self.alignment]
        lines = [self.columns, rule, *escaped]
        return f"{self.caption}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def latex(self) -> str:
        """The table in LaTeX, over both columns of a page; it needs the package booktabs."""
        body = "".join(f"    {' & '.join(cells)} \\\\\n" for cells in self._escaped(latex_text))
        head = " & ".join(map(latex_text, self.columns))
        width = _PARAGRAPHS / max(1, self.alignment.count("p"))
        columns = self.alignment.replace("p", f"p{{{width:.2f}\\linewidth}}")
        return (
            "% \\usepackage{booktabs}\n\\begin{table*}\n  \\centering\n  \\small\n"
            f"  \\caption{{{latex_text(self.caption)}}}\n  \\label{{{self.label}}}\n"
            f"  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n    {head} \\\\\n    \\midrule\n{body}"
            "    \\bottomrule\n  \\end{tabular}\n\\end{table*}\n"
        )

    def _escaped(self, escape: Callable[[str], str]) -> list[list[str]]:
        return [[escape(" ".join(text.split())) for text in row] for row in self.rows]


def latex_text(text: str) -> str:
    """The text as LaTeX prints it, in one line; the minus of a number is one."""
    return _MINUS.sub("$-$", " ".join(text.split()).translate(_LATEX_ESCAPES))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as CSV under their columns; None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
