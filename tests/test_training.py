"""Training: batches, loss, seeds, and going on after a kill exactly where it stopped."""

from __future__ import annotations

import errno
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heedful.data import Prepared
from heedful.errors import HeedfulError
from heedful.models import Family, build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import (
    DevScore,
    GoalLoss,
    Loss,
    Trained,
    TrainingState,
    bucketed,
    class_loss,
    class_score,
    load,
    loop,
    save,
    train,
)
from heedful.training.loss import predict
from heedful.types import Batch, Trace
from killing import Killed, dies_in
from tiny import tiny_model

SPEC = TrainSpec(epochs=4, learning_rate=0.02)


def fresh(planted: Prepared, encoder: str = "cnn", seed: int = 0) -> Family:
    return build(ModelSpec(encoder, hidden=8), planted.vectors, len(planted.labels), seed)


def weights(result: Trained) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in result.model.state_dict().items()}


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=300),
    st.integers(1, 40),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_batches_hold_every_example_once(
    lengths: list[int], size: int, seed: int, epoch: int
) -> None:
    batches = bucketed(np.array(lengths), size, seed, epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= size for batch in batches)
    assert len(batches) == math.ceil(len(lengths) / size)
    again = bucketed(np.array(lengths), size, seed, epoch)
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_batches_depend_on_seed_and_epoch_alone() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, 400)
    orders = {
        tuple(np.concatenate(bucketed(lengths, 8, seed, epoch)))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(orders) == 9
    np.random.default_rng(1).random(5)
    torch.manual_seed(9)
    first = np.concatenate(bucketed(lengths, 8, 2, 1))
    assert tuple(first) in orders


def test_batches_are_of_like_length_but_in_no_order() -> None:
    lengths = np.random.default_rng(0).integers(1, 500, 400)
    batches = bucketed(lengths, 8, 0, 0)
    spread = np.mean([np.ptp(lengths[batch]) for batch in batches])
    assert spread < 30
    means = [lengths[batch].mean() for batch in batches]
    assert means != sorted(means)


def loss_of(lossy: GoalLoss, logits: Tensor, labels: list[int]) -> float:
    ids = tuple(map(str, labels))
    return lossy(Trace(logits, {}, {}), Batch(ids, {}, torch.tensor(labels))).item()


def test_a_positive_counts_n_over_n_positive_less_one() -> None:
    """Six of eight are negative: a positive counts 8/2 − 1 = 3 times."""
    labels = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1])
    lossy = class_loss(labels, 2, True)
    logits = torch.tensor([[0.0], [math.log(3.0)]])
    by_hand = (math.log(2) + 3 * -math.log(0.75)) / 2
    assert loss_of(lossy, logits, [0, 1]) == pytest.approx(by_hand, rel=1e-5)
    plain = (math.log(2) - math.log(0.75)) / 2
    unweighted = loss_of(class_loss(labels, 2, False), logits, [0, 1])
    assert unweighted == pytest.approx(plain, rel=1e-5)


def test_several_classes_count_by_their_share() -> None:
    """Counts 1, 2, 3 of 6: weights 6/(3·1), 6/(3·2), 6/(3·3)."""
    lossy = class_loss(torch.tensor([0, 1, 1, 2, 2, 2]), 3, True)
    for label, weight in enumerate((2.0, 1.0, 2 / 3)):
        value = loss_of(lossy, torch.zeros(1, 3), [label])
        assert value == pytest.approx(weight * math.log(3), rel=1e-5)


def test_the_loss_goes_down_and_something_is_learned(planted: Prepared) -> None:
    result = train(fresh(planted), planted, replace(SPEC, epochs=6), seed=0)
    losses = result.history["loss"]
    assert losses.iloc[-1] < 0.7 * losses.iloc[0]
    assert result.history["dev_score"].max() > 0.7
    assert result.history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert not any(module.training for module in result.model.modules())


@pytest.mark.parametrize("encoder", ["cnn", "bilstm"])
def test_the_same_seed_gives_the_same_bytes(planted: Prepared, encoder: str) -> None:
    spec = replace(SPEC, epochs=2)
    first, again, other = (
        weights(train(fresh(planted, encoder), planted, spec, seed)) for seed in (3, 3, 4)
    )
    assert first == again and first != other


@pytest.fixture(scope="module")
def whole(planted: Prepared) -> Trained:
    """A training that nothing stopped."""
    return train(fresh(planted), planted, SPEC, 0)


@pytest.mark.parametrize("encoder", ["cnn", "bilstm"])
def test_a_killed_training_ends_like_one_that_was_not(
    planted: Prepared, whole: Trained, tmp_path: Path, encoder: str
) -> None:
    if encoder != "cnn":
        whole = train(fresh(planted, encoder), planted, SPEC, 0)
    for epoch in (3, 4):
        with pytest.raises(Killed):
            model = fresh(planted, encoder)
            train(model, planted, SPEC, 0, scratch=tmp_path, progress=dies_in(epoch))
    told: list[str] = []
    model = fresh(planted, encoder, seed=99)  # whatever it starts from: the checkpoint counts
    resumed = train(
        model, planted, SPEC, 0, scratch=tmp_path, progress=lambda label, *_: told.append(label)
    )
    assert set(told) == {"epoch 4 of 4"}
    assert weights(resumed) == weights(whole)
    columns = ["epoch", "loss", "dev_score", "dev_loss"]
    assert resumed.history[columns].equals(whole.history[columns])
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.safetensors"]


def test_a_finished_training_is_not_done_again(
    planted: Prepared, whole: Trained, tmp_path: Path
) -> None:
    train(fresh(planted), planted, SPEC, 0, scratch=tmp_path)
    again = train(fresh(planted), planted, SPEC, 0, scratch=tmp_path, progress=dies_in(1))
    assert weights(again) == weights(whole)


@pytest.mark.parametrize("damage", ["empty", "half", "rubbish"])
def test_a_damaged_checkpoint_is_left_aside(
    planted: Prepared, whole: Trained, tmp_path: Path, damage: str
) -> None:
    with pytest.raises(Killed):
        train(fresh(planted), planted, SPEC, 0, scratch=tmp_path, progress=dies_in(3))
    path = tmp_path / "checkpoint.safetensors"
    written = path.read_bytes()
    half = written[: len(written) // 2]
    path.write_bytes({"empty": b"", "half": half, "rubbish": b"x" * 999}[damage])
    told: list[str] = []
    restarted = train(
        fresh(planted), planted, SPEC, 0, scratch=tmp_path, progress=lambda x, *_: told.append(x)
    )
    assert told[0] == "epoch 1 of 4"
    assert weights(restarted) == weights(whole)


def test_a_checkpoint_holds_everything(tmp_path: Path) -> None:
    model = tiny_model("cnn")
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    history = [{"epoch": 1, "loss": 0.1 + 0.2, "dev_score": 1 / 3, "dev_loss": 2 / 3}]
    done = TrainingState(history, {"x": torch.tensor([1.0])}, kept=1, improved=1, ties="first")
    save(tmp_path / "c.safetensors", model, optimizer, done)
    other = tiny_model("cnn", seed=5)
    target = torch.optim.Adam(other.parameters(), amsgrad=True)
    back = load(tmp_path / "c.safetensors", other, target)
    assert back == done
    assert all(torch.equal(v, other.state_dict()[k]) for k, v in model.state_dict().items())
    for index, state in optimizer.state_dict()["state"].items():
        found = target.state_dict()["state"][index]
        assert set(found) == {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
        assert all(torch.equal(found[name], value) for name, value in state.items())
    assert load(tmp_path / "missing.safetensors", other, target) is None


def test_a_checkpoint_without_dev_losses_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first version's: ties could not be broken."""
    model = tiny_model("cnn")
    optimizer = torch.optim.Adam(model.parameters())
    with monkeypatch.context() as before:
        before.setattr("heedful.training.loop.SCHEMA_VERSION", "1")
        save(tmp_path / "c.safetensors", model, optimizer, TrainingState())
    assert load(tmp_path / "c.safetensors", model, optimizer) is None


def test_a_checkpoint_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real, move = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda each: (calls.append("fsync"), real(each))[1])
    monkeypatch.setattr(Path, "replace", lambda *both: (calls.append("rename"), move(*both))[1])
    model = tiny_model("cnn")
    save(tmp_path / "c.safetensors", model, torch.optim.Adam(model.parameters()), TrainingState())
    assert calls == ["fsync", "rename"]


def test_a_checkpoint_that_the_disk_refuses_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = tiny_model("cnn"), tmp_path / "c.safetensors"
    optimizer = torch.optim.Adam(model.parameters())
    save(path, model, optimizer, TrainingState([{"epoch": 1}]))

    def full(tensors: object, place: Path, metadata: object) -> None:
        place.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("heedful.training.loop.save_file", full)
    with pytest.raises(HeedfulError, match="No space left.*make room"):
        save(path, model, optimizer, TrainingState([{"epoch": 1}, {"epoch": 2}]))
    assert [each.name for each in tmp_path.iterdir()] == ["c.safetensors"]
    back = load(path, model, optimizer)
    assert back is not None and back.epochs == 1


def scripted(
    scores: list[float], monkeypatch: pytest.MonkeyPatch, losses: list[float] | None = None
) -> list[dict[str, torch.Tensor]]:
    """The dev scores and losses are given; the weights after each epoch are kept."""
    seen: list[dict[str, torch.Tensor]] = []

    def selector(spec: TrainSpec, task: str, loss: Loss):  # type: ignore[no-untyped-def]
        def score(model: Family, dev: object, device: str) -> DevScore:
            seen.append({name: value.clone() for name, value in model.state_dict().items()})
            last = len(seen) - 1
            return DevScore(scores[last], losses[last] if losses else 1.0)

        return score

    monkeypatch.setattr(loop, "selector", selector)
    return seen


AS_GOOD = [0.5, 1.0, 1.0 + 1e-12, 1.0]
"""A metric's last digit is rounding."""


@pytest.mark.parametrize(
    ("ties", "scores", "losses", "kept"),
    {
        "the better score": ("loss", [0.5, 0.8, 0.7, 0.6], [0.9, 0.8, 0.1, 0.1], 2),
        "the lower loss": ("loss", AS_GOOD, [0.9, 0.918, 0.2, 0.3], 3),
        "the earlier lower loss": ("loss", AS_GOOD, [0.9, 0.2, 0.918, 0.3], 2),
        "of the same loss the latest": ("loss", AS_GOOD, [0.9, 0.2, 0.2, 0.2], 4),
        "as the papers: the first": ("first", [0.5, 1.0, 1.0, 1.0], [0.9, 0.918, 0.2, 0.2], 2),
    }.values(),
)
def test_the_best_epoch_is_kept(
    planted: Prepared,
    monkeypatch: pytest.MonkeyPatch,
    ties: str,
    scores: list[float],
    losses: list[float],
    kept: int,
) -> None:
    seen = scripted(scores, monkeypatch, losses)
    result = train(fresh(planted), planted, replace(SPEC, ties=ties), 0)
    assert result.history["dev_loss"].tolist() == losses
    found = result.model.state_dict()["decoder.weight"]
    same = [torch.equal(found, weights["decoder.weight"]) for weights in seen]
    assert same == [epoch == kept for epoch in range(1, 5)]


@pytest.mark.parametrize(
    ("ties", "losses", "epochs", "kept"),
    {
        "a lower loss is an improvement": ("loss", [0.9, 0.8, 0.7, 0.9, 0.9, 0.1], 5, 3),
        "an equal one is not": ("loss", [0.9, 0.8, 0.8, 0.9, 0.9, 0.1], 4, 3),
        "as the papers: the score alone": ("first", [0.9, 0.8, 0.7, 0.1, 0.1, 0.1], 4, 2),
    }.values(),
)
def test_patience_runs_out(
    planted: Prepared,
    monkeypatch: pytest.MonkeyPatch,
    ties: str,
    losses: list[float],
    epochs: int,
    kept: int,
) -> None:
    scores = [0.5, 0.6, 0.6, 0.55, 0.55, 0.9]
    seen = scripted(scores, monkeypatch, losses)
    spec = replace(SPEC, epochs=6, patience=2, ties=ties)
    result = train(fresh(planted), planted, spec, 0)
    assert result.history["dev_score"].tolist() == scores[:epochs]
    found = result.model.state_dict()["decoder.weight"]
    assert torch.equal(found, seen[kept - 1]["decoder.weight"])


def test_ties_are_broken_alike_after_a_resume(
    planted: Prepared, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kept epoch's loss is in the checkpoint: the fourth is better than the second."""
    scores, losses = [0.5, 1.0, 0.9, 1.0], [0.9, 0.5, 0.5, 0.4]
    seen = scripted(scores, monkeypatch, losses)
    with pytest.raises(Killed):
        train(fresh(planted), planted, SPEC, 0, scratch=tmp_path, progress=dies_in(4))
    result = train(fresh(planted), planted, SPEC, 0, scratch=tmp_path)
    assert result.history["dev_loss"].tolist() == losses
    assert torch.equal(result.model.state_dict()["decoder.weight"], seen[3]["decoder.weight"])


def test_the_dev_loss_is_the_mean_cross_entropy_of_the_same_predictions(planted: Prepared) -> None:
    result = train(fresh(planted), planted, replace(SPEC, epochs=1), 0)
    dev = planted.split("dev")
    p = predict(result.model, dev, "cpu")
    by_hand = [-math.log(row[label]) for row, label in zip(p, dev.labels.tolist(), strict=True)]
    assert result.history["dev_loss"].tolist() == pytest.approx([sum(by_hand) / len(by_hand)])
    sure = class_score("accuracy", np.array([0]), np.array([[0.0, 1.0]]))
    assert sure.loss == pytest.approx(708, abs=1)  # not infinite: it could not be compared


def test_an_unknown_way_to_break_ties_is_refused(planted: Prepared) -> None:
    with pytest.raises(HeedfulError, match="ties"):
        train(fresh(planted), planted, replace(SPEC, ties="last"), 0)


def test_a_score_that_is_no_number_is_refused(
    planted: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dev split of one class has no ROC-AUC, and no epoch would be the best one."""
    scripted([math.nan], monkeypatch)
    with pytest.raises(HeedfulError, match="dev"):
        train(fresh(planted), planted, SPEC, 0)


def test_the_pace_counts_steps_through_all_epochs(
    planted: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a step, however many groups of parameters there are, and on from epoch to epoch."""
    seen: list[int] = []

    def pace(step: int, warmup: int) -> float:
        seen.append(step)
        return 1.0

    monkeypatch.setattr(loop, "_pace", pace)
    train(fresh(planted), planted, replace(SPEC, epochs=2, warmup=5), 0)
    batches = -(-len(planted.split("train")) // SPEC.batch_size)
    assert seen == list(range(1, 2 * batches + 1))


def test_decay_is_kept_off_attention(planted: Prepared) -> None:
    """With a decay that dwarfs the gradient all but attention shrinks."""
    spec = TrainSpec(epochs=1, batch_size=4, learning_rate=1e-2, weight_decay=1e4)
    before, after = fresh(planted), train(fresh(planted), planted, spec, 0).model
    everywhere = train(fresh(planted), planted, replace(spec, decay_attention=True), 0).model

    def size(model: Family, part: str) -> float:
        return float(sum(p.detach().norm() for p in getattr(model, part).parameters()))

    assert size(after, "decoder") < 0.5 * size(before, "decoder")
    assert size(after, "attention") > 0.9 * size(before, "attention")
    assert size(everywhere, "attention") < 0.9 * size(after, "attention")


def test_a_fixed_embedding_stays(planted: Prepared) -> None:
    spec = ModelSpec("cnn", hidden=8, train_embedding=False)
    model = build(spec, planted.vectors, 2, 0)
    result = train(model, planted, replace(SPEC, epochs=1), 0)
    assert torch.equal(result.model.embedding.weight, planted.vectors)


def test_clipping_bounds_the_gradient(planted: Prepared) -> None:
    plain = weights(train(fresh(planted), planted, replace(SPEC, epochs=1), 0))
    clipped = weights(train(fresh(planted), planted, replace(SPEC, epochs=1, clip=1e-3), 0))
    assert plain != clipped


def test_a_loss_that_is_no_number_is_named(planted: Prepared) -> None:
    model = fresh(planted)
    with torch.no_grad():
        model.decoder.bias.fill_(math.nan)
    with pytest.raises(HeedfulError, match="lower --learning-rate"):
        train(model, planted, SPEC, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "at least 1"),
        ({"batch_size": 0}, "at least 1"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"learning_rate": math.nan}, "above 0"),
        ({"clip": 0.0}, "above 0"),
        ({"patience": 0}, "at least 1"),
        ({"select": "error"}, "likelihood, loss, roc_auc"),
    ],
)
def test_a_wrong_spec_is_named(planted: Prepared, change: dict, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        train(fresh(planted), planted, replace(SPEC, **change), 0)


def test_predictions_come_in_the_order_of_the_split(planted: Prepared) -> None:
    split, model = planted.split("test"), fresh(planted)
    whole = predict(model, split, "cpu", 7)
    assert whole.shape == (60, 2)
    for index in (0, 17, 59):
        alone = predict(model, split.subset([index]), "cpu")
        np.testing.assert_allclose(whole[index], alone[0], atol=1e-6)


def test_outputs_that_are_no_numbers_are_a_sentence(
    planted: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = np.full((len(planted.split("dev")), 2), np.nan)
    monkeypatch.setattr("heedful.training.loss.predict", lambda *arguments: broken)
    with pytest.raises(HeedfulError, match="lower --learning-rate"):
        train(fresh(planted), planted, SPEC, 0)
