"""Tables for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isfinite, log10


@dataclass
class Table:
    """A titled table of strings with notes below."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Append a row; raise ValueError if its length differs from the header's."""
        if len(cells) != len(self.header):
            raise ValueError(f"table: {len(cells)} cells under {len(self.header)} columns")
        self.rows.append(cells)

    def text(self) -> str:
        """Aligned columns, the first to the left and the others to the right."""
        if not self.rows:
            return "\n".join([self.title, *self.notes])
        lines = [self.header, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.header))]

        def align(line: Sequence[str]) -> str:
            first, rest = line[0].ljust(widths[0]), [c.rjust(w) for c, w in zip(line[1:], widths[1:])]
            return "  ".join([first, *rest]).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([self.title, rule, align(self.header), rule, *map(align, self.rows), *self.notes])

    def markdown(self) -> str:
        """A Markdown table under a heading."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"

        if not self.rows:
            return "\n\n".join([f"### {self.title}", *self.notes])
        rule = "|---" + "|---:" * (len(self.header) - 1) + "|"
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"### {self.title}\n", line(self.header), rule, *map(line, self.rows), *notes])


def number(x: float | None, digits: int = 3) -> str:
    """Format x with the given number of significant digits, without an exponent if it is readable; - if x is None."""
    if x is None or not isfinite(x):
        return "-"
    if x == 0:
        return "0"
    if not 1e-4 <= abs(x) < 1e5:
        return f"{x:.1e}"
    return f"{x:.{max(0, digits - 1 - floor(log10(abs(x))))}f}"


def signed(x: float | None) -> str:
    """A constraint's value with its sign: it is met if at most 0."""
    if x is None or not isfinite(x):
        return "-"
    return f"{x:+.1e}"


def spread(low: float, high: float) -> str:
    """Quartiles."""
    return f"{number(low)}-{number(high)}"
