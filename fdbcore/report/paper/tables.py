"""Tables for a paper: Markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fdbcore.report.html.values import flat
from fdbcore.report.markdown import escaped
from fdbcore.sources.text_cells import marked

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
        rule = ["--:" if letter == "r" else ":--" for letter in self.alignment]
        lines = [map(escaped, self.columns), rule, *(map(escaped, row) for row in self.rows)]
        return f"{escaped(self.caption)}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def latex(self) -> str:
        """The table in LaTeX, over both columns of a page; it needs the package booktabs."""
        body = "".join(f"    {' & '.join(map(latex_text, row))} \\\\\n" for row in self.rows)
        head = " & ".join(map(latex_text, self.columns))
        width = _PARAGRAPHS / max(1, self.alignment.count("p"))
        columns = self.alignment.replace("p", f"p{{{width:.2f}\\linewidth}}")
        return (
            "% \\usepackage{booktabs}\n\\begin{table*}\n  \\centering\n  \\small\n"
            f"  \\caption{{{latex_text(self.caption)}}}\n  \\label{{{self.label}}}\n"
            f"  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n    {head} \\\\\n    \\midrule\n{body}"
            "    \\bottomrule\n  \\end{tabular}\n\\end{table*}\n"
        )


def latex_comment(made: Mapping[str, Any]) -> str:
    """The making of a table, as a comment: nested JSON values, a line each."""
    lines = (f"{name}: {getattr(of, 'text', of)}" for name, of in flat(made))
    return "".join(f"% {' '.join(line.split())}\n" for line in lines)


def latex_text(text: str) -> str:
    """The text as LaTeX prints it, in one line; the minus of a number is one."""
    return _MINUS.sub("$-$", " ".join(text.split()).translate(_LATEX_ESCAPES))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as CSV under their columns; None is an empty field, and no text is a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(marked, row) for row in (columns, *rows))
    return text.getvalue()
