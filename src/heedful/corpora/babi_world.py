"""A small world for stories: people walk about, take things and put them down.

Everything is worked out from the list of facts itself, never from a state kept beside it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

PEOPLE = ("Amara", "Bruno", "Chiara", "Dagny", "Emil", "Farid")
PLACES = ("library", "cellar", "attic", "orchard", "workshop", "stable", "harbour", "chapel")
THINGS = ("lantern", "violin", "basket", "compass", "kettle", "umbrella")
VERBS = {
    "move": ("walked to", "hurried to", "headed for", "strolled into"),
    "take": ("picked up", "took", "grabbed"),
    "drop": ("put down", "dropped", "laid down"),
}


@dataclass(frozen=True)
class Fact:
    """What somebody did: `target` is the place of a move, else the thing."""

    deed: str
    person: str
    target: str
    text: str


@dataclass(frozen=True)
class World:
    """Who and what there is; `touching` is the share of deeds that take or put down."""

    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    touching: float


@dataclass(frozen=True)
class Asked:
    """A question, its only right answer, and the facts that support it."""

    question: str
    answer: str
    support: tuple[int, ...]


def add_fact(facts: list[Fact], world: World, rng: random.Random) -> None:
    """One more thing that can happen after the others."""
    deed = "move"
    if rng.random() < world.touching:
        deed = rng.choice(("take", "take", "drop"))
    choices = _choices(facts, world, deed) or _choices(facts, world, "move")
    deed, person, target = rng.choice(choices)
    text = f"{person} {rng.choice(VERBS[deed])} the {target}."
    facts.append(Fact(deed, person, target, text))


def questions(facts: Sequence[Fact], world: World, task: int) -> list[Asked]:
    """All that can be asked: with one, two or three supporting facts."""
    if task == 1:
        return _where_is_somebody(facts, world)
    if task == 2:
        return _where_is_something(facts, world)
    return _where_was_something(facts, world)


def last_move(facts: Sequence[Fact], person: str, before: int) -> int | None:
    """The last of the first `before` facts that moved the person."""
    moves = [i for i in range(before) if (facts[i].deed, facts[i].person) == ("move", person)]
    return moves[-1] if moves else None


def last_touch(facts: Sequence[Fact], thing: str, before: int) -> int | None:
    """The last of the first `before` facts in which the thing was taken or put down."""
    touched = [i for i in range(before) if facts[i].deed != "move" and facts[i].target == thing]
    return touched[-1] if touched else None


def _where_is_somebody(facts: Sequence[Fact], world: World) -> list[Asked]:
    moves = {person: last_move(facts, person, len(facts)) for person in world.people}
    return [
        Asked(f"Where is {person}?", facts[move].target, (move,))
        for person, move in moves.items()
        if move is not None
    ]


def _where_is_something(facts: Sequence[Fact], world: World) -> list[Asked]:
    """A thing is where its holder last went, or where it was put down."""
    found = []
    for thing in world.things:
        touch = last_touch(facts, thing, len(facts))
        if touch is not None:
            move = _place_move(facts, touch, len(facts))
            asked = f"Where is the {thing}?"
            found.append(Asked(asked, facts[move].target, tuple(sorted((touch, move)))))
    return found


def _where_was_something(facts: Sequence[Fact], world: World) -> list[Asked]:
    """Asked about the step from one place to the next, where the thing was in the latter only
    once: then there is one right answer. It takes the move to the one place, the move to the
    other, and that the thing was taken."""
    found = []
    for thing in world.things:
        steps = _carried(facts, thing)
        visits = (
            [facts[steps[0][0]].target, *(facts[step[1]].target for step in steps)] if steps else []
        )
        for come, go, take in steps:
            before, after = facts[come].target, facts[go].target
            if visits.count(after) == 1:
                asked = f"Where was the {thing} before the {after}?"
                found.append(Asked(asked, before, tuple(sorted((come, go, take)))))
    return found


def _carried(facts: Sequence[Fact], thing: str) -> list[tuple[int, int, int]]:
    """(the holder's move before, the move with the thing, how it was taken), for each step."""
    steps = []
    for go, fact in enumerate(facts):
        take = last_touch(facts, thing, go)
        if fact.deed != "move" or take is None:
            continue
        if (facts[take].deed, facts[take].person) == ("take", fact.person):
            steps.append((_place_move(facts, take, go), go, take))
    return steps


def _place_move(facts: Sequence[Fact], touch: int, now: int) -> int:
    """The move that says where a thing is now, given how it was last touched. Only people who
    have moved touch things, so there is one."""
    before = now if facts[touch].deed == "take" else touch
    move = last_move(facts, facts[touch].person, before)
    assert move is not None
    return move


def _choices(facts: Sequence[Fact], world: World, deed: str) -> list[tuple[str, str, str]]:
    """Who can do this to what, after these facts."""
    now = len(facts)
    found = []
    for person in world.people:
        move = last_move(facts, person, now)
        here = None if move is None else facts[move].target
        if deed == "move":
            found += [(deed, person, place) for place in world.places if place != here]
        elif here is not None:
            found += [
                (deed, person, thing)
                for thing in world.things
                if _can(facts, deed, person, here, thing)
            ]
    return found


def _can(facts: Sequence[Fact], deed: str, person: str, here: str, thing: str) -> bool:
    """Who holds a thing can put it down; one that lies here, or that nobody has touched and
    so may lie anywhere, can be taken."""
    touch = last_touch(facts, thing, len(facts))
    if touch is None:
        return deed == "take"
    if facts[touch].deed == "take":
        return deed == "drop" and facts[touch].person == person
    return deed == "take" and facts[_place_move(facts, touch, len(facts))].target == here
