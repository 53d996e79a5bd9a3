"""Tables in blocks: written and read without ever being whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.store import Frames, Store


def block(start: int, size: int, **others: object) -> pd.DataFrame:
    numbers = list(range(start, start + size))
    return pd.DataFrame({"name": [f"n{i}" for i in numbers], "value": numbers, **others})


def some(*sizes: int) -> Frames:
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return Frames(lambda: (block(start, size) for start, size in zip(starts, sizes, strict=True)))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_what_is_written_in_blocks_is_read_in_blocks(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("frames") / "table.parquet"
    some(*sizes).write(path)
    found = Frames.at(path)
    assert [len(each) for each in found] == sizes == [len(each) for each in found]
    pd.testing.assert_frame_equal(found.whole, block(0, sum(sizes)))
    pd.testing.assert_frame_equal(found.first, block(0, sizes[0]))


def test_no_block_is_made_before_it_is_asked_for(tmp_path: Path) -> None:
    made: list[int] = []

    def blocks() -> Iterator[pd.DataFrame]:
        for number in range(3):
            made.append(number)
            yield block(number, 1)

    frames = Frames(blocks)
    assert len(frames.first) == 1 and made == [0]
    frames.write(tmp_path / "t.parquet")
    assert made == [0, 0, 1, 2] and len(frames.whole) == 3


def test_a_column_that_the_first_block_lacks_has_the_type_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parts = [block(0, 1, marks=[None]), block(1, 1, marks=[[True, False]])]
    Frames(lambda: iter(parts)).write(path, {"marks": pa.list_(pa.bool_())})
    first, second = Frames.at(path).whole["marks"]
    assert first is None and list(second) == [True, False]


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    Frames.of(block(0, 0)).write(tmp_path / "t.parquet")
    assert list(Frames.at(tmp_path / "t.parquet").whole.columns) == ["name", "value"]


def test_a_run_holds_blocks_and_nothing_of_this_machine(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writing("probe", {"piece": "x"}) as writer:
        writer.frames("rows", some(2, 3))
    run = store.open(store.keys()[0])
    assert [len(each) for each in run.frames("rows")] == [2, 3]
    pd.testing.assert_frame_equal(run.table("rows"), block(0, 5))
    metadata = pq.read_schema(run.path / "rows.parquet").metadata
    assert metadata == {b"heedful_schema_version": b"1"}
