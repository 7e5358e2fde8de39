"""Gates as JUnit XML, for CI systems."""

from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from fdbcore.analysis.comparison import RunComparison
from fdbcore.analysis.gate_results import GateResult
from fdbcore.report.comparison import phrases
from fdbcore.report.format import clock_text
from fdbcore.report.svg.text import without_controls

FORM: Final = r'<\?xml [^>]*>\s*<testsuite name="fdbcore gates"'
"""The beginning of each file."""
ELEMENTS: Final = {"failed": "failure", "not measured": "error"}
_CANNOT_TELL: Final = {"pass": None, "fail": "failure", "error": "error"}


def junit(document: RunComparison) -> str:
    """The gates of a comparison as one suite, one case per gate. The file of gates decides about undecided ones."""
    gates = document["gates"]
    results = phrases.in_order(gates)
    undecided = _CANNOT_TELL[gates["cannot_tell"]]
    elements = [undecided if gate["status"] == "cannot tell" else ELEMENTS.get(gate["status"]) for gate in results]
    suite = _suite(len(results), elements.count("failure"), elements.count("error"))
    for gate, element in zip(results, elements, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=gates["file"], name=phrases.gate_name(gate))
        text = "\n".join(_lines(gate))
        if element is None:
            ElementTree.SubElement(case, "system-out").text = text
        else:
            message = f"{phrases.STATUSES[gate['status']]}: {phrases.gate_finding(gate)}"
            ElementTree.SubElement(case, element, message=message, type=gate["status"]).text = text
    if notices := phrases.notices(document):
        ElementTree.SubElement(suite, "system-out").text = "\n".join(notices)
    return _xml(suite)


def junit_of_error(file: Path | None, message: str) -> str:
    """A suite with one case, whose error says why no gate of `file` was decided."""
    suite = _suite(1, 0, 1)
    case = ElementTree.SubElement(suite, "testcase", classname=str(file), name="all gates")
    ElementTree.SubElement(case, "error", message=message, type="not decided").text = message
    return _xml(suite)


def _suite(tests: int, failures: int, errors: int) -> ElementTree.Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    return ElementTree.Element("testsuite", {"name": "fdbcore gates"} | counts)


def _xml(suite: ElementTree.Element) -> str:
    ElementTree.indent(suite)
    return without_controls(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)) + "\n"


def _lines(gate: GateResult) -> list[str]:
    moments = (
        f"{clock_text(moment['start_s'])} {moment['text']}, {moment['file']}: {moment['page']}"
        for moment in gate["worst"]
    )
    return [*phrases.gate_lines(gate), *moments]
