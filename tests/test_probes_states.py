"""States are kept up to a limit; what is encoded again gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from heedful.experiments import evidence as module
from probing import LENGTHS, Bent, evidence, find, table
from tiny import tiny_model, tiny_split

RESUMING = ("permutation", "erasure", "flips", "importance_sets", "adversarial")
PARAMS = {"permutation": {"permutations": 5}, "adversarial": {"search_steps": 2}}


@pytest.mark.parametrize("name", RESUMING)
def test_states_that_were_not_kept_change_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, split = Bent(tiny_model(double=True)), tiny_split(LENGTHS)
    params = PARAMS.get(name, {})
    kept = table(find(name, model, split, batch_size=2, **params), split)
    monkeypatch.setattr(module, "_STATES_KEPT", 0)
    again = table(find(name, model, split, batch_size=2, **params), split)
    np.testing.assert_array_equal(kept, again)


@pytest.mark.parametrize("linear", [True, False])
def test_the_limit_holds_for_every_model(linear: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, split = tiny_model(), tiny_split(LENGTHS)
    seen = evidence(model if linear else Bent(model), split, batch_size=1)
    monkeypatch.setattr(module, "_STATES_KEPT", 1)
    assert [bool(each.trace.states) for each in seen.passes("")] == [True] + [False] * 7
    assert [bool(each.trace.states) for each in seen.resumable("")] == (
        [True] + [False] * 7 if linear else [True] * 8
    )
