"""The columns of the public functions DataFrame → DataFrame are those that the page lists."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from partage import pipeline

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "measure-on-a-spark-cluster.md"
RECORDS = str(files("partage.data") / "change-events.parquet")


def documented() -> dict[str, tuple[list[str], str]]:
    """By function: the functions whose results it takes, and its columns."""
    text = PAGE.read_text(encoding="utf-8").partition("| function of | columns |")[2]
    rows = re.findall(r"^\| `(\w+)` of (.*?) \| (.*?) \|$", text, re.MULTILINE)
    return {name: (re.findall(r"`(\w+)`", of), columns) for name, of, columns in rows}


def test_the_columns_are_those_of_the_page(spark: SparkSession) -> None:
    frames, said = {"read_records": pipeline.read_records(spark, [RECORDS])}, {}
    for name, (inputs, columns) in documented().items():
        if inputs:
            made = getattr(pipeline, name)(*(frames[one] for one in inputs))
            frames[name] = made
        before = said[inputs[0]] if inputs else []
        first, _, more = columns.partition(", and ")
        same = before if first.startswith("the same") else first.split(", ")
        said[name] = [*same, *filter(None, more.split(", "))]
        schema = frames[name].schema
        assert [f"{one.name} {one.dataType.simpleString()}" for one in schema] == said[name], name
    takes_frames = {"key_report", "profile_tables", "append_profile", "write_profile"}
    others = {"session", "ship", "copied_profile"} | takes_frames
    assert set(pipeline.__all__) - others == said.keys()
