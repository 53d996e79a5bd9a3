"""Entries that are declared above what makes them."""

from __future__ import annotations

from heedful.entries import Entries, Metric, ModelPart, figure, signed_share


def test_an_entry_has_the_functions_name_or_its_own_and_leaves_the_function() -> None:
    entries = Entries(ModelPart)

    @entries.entry("halves", paper="a2020")
    def half(x: float) -> float:
        return x / 2

    entries.entry("doubles", name="twice")(lambda x: 2 * x)
    assert half(3.0) == 1.5 and list(entries) == ["half", "twice"]
    assert entries["half"] == ModelPart("half", "halves", half, paper="a2020")
    assert entries["twice"].make(3.0) == 6.0


def test_a_measure_says_how_a_number_is_read() -> None:
    entries = Entries(Metric)

    @entries.entry(signed_share("agreement", True), formula="a − b")
    def apart(a: float, b: float) -> float:
        return a - b

    found = entries["apart"]
    assert (found.description, found.higher_is_better, found.signed) == ("agreement", True, True)
    assert (found.range, found.formula) == ((-1.0, 1.0), "a − b")


def test_a_figure_is_what_its_function_says() -> None:
    @figure("erasure", "flips", paper="b2020, Figure 1")
    def drawn(evidence: object) -> str:
        """Bars."""
        return "bars"

    assert (drawn.name, drawn.description, drawn.make(None)) == ("drawn", "Bars.", "bars")
    assert (drawn.needs, drawn.paper) == (("erasure", "flips"), "b2020, Figure 1")
