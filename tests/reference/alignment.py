"""Alignment scores from sets of links, as Och & Ney write them."""

from __future__ import annotations

Link = tuple[int, int]


def hard_links(weights: list[list[float]]) -> set[Link]:
    """(source, target) for each target's row of weights: the heaviest source."""
    return {(max(range(len(row)), key=lambda i: row[i]), j) for j, row in enumerate(weights)}


def error_rate(links: set[Link], sure: set[Link]) -> float:
    possible = sure  # every gold link is sure
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


def mass(weights: list[list[float]], sure: set[Link]) -> float:
    linked = {j for _, j in sure}
    on_gold = [sum(weights[j][i] for i, k in sure if k == j) for j in linked]
    return sum(on_gold) / len(linked)
