"""Loads against their bands, and the highest load of each broker."""

from __future__ import annotations

from typing import Any

import pytest

import partage
from partage import Cluster, InputError
from partage.report.html import render
from partage.report.view import View, view
from partage.report.view.resources import (
    LOAD_WORDS,
    band_text,
    highest_loads,
    resource_rows,
    resources_note,
)
from tests.brokers.load.cases import a_cluster
from tests.report import plan_documents as documents


def _known() -> Cluster:
    cluster = a_cluster(5, brokers=6, partitions=20)
    for broker in cluster["brokers"]:
        broker |= {"disk_bytes": 10**9, "network_out_bytes_per_second": 10**6}
    return Cluster.from_json(cluster)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return partage.plan(_known(), balance="load", remove_broker=[2]).document()


@pytest.fixture(scope="module")
def balanced(document: dict[str, Any]) -> View:
    return view(document)


def test_every_load_is_that_of_the_figures(balanced: View) -> None:
    resources = balanced.figures.resources
    keys = [load.key for load in balanced.loads]
    assert keys == ["replicas", "leaders", "bytes", "in", "out", "rate"]
    for load, figures in zip(balanced.loads, resources.values(), strict=True):
        assert load.after.tolist() == [row.load for row in figures.brokers]
        assert load.fair[2] == 0
    counted = {load.key: load for load in balanced.loads}
    held = [sum(b in row for row in balanced.file.partitions.after) for b in range(6)]
    assert counted["replicas"].after.tolist() == held
    assert band_text(counted["leaders"]) == "4"


def test_a_row_per_load_in_percent(balanced: View) -> None:
    rows = {row.name: row for row in resource_rows(balanced.figures_before, balanced.figures)}
    out = balanced.figures.resources["out"]
    assert out.after_failure is not None
    assert (
        rows["bytes out"].after == f"{100 * out.min / out.fair:.3g}–{100 * out.max / out.fair:.3g}"
    )
    assert rows["bytes out"].survivor.startswith(f"{100 * out.after_failure.max / out.fair:.3g} / ")
    assert out.band is not None
    assert rows["bytes out"].within is (out.band[0] <= out.min and out.max <= out.band[1])
    assert rows["disk"].survivor == ""


def test_the_highest_load_of_each_usable_broker(balanced: View) -> None:
    resources = balanced.figures.resources
    rows = highest_loads(balanced.figures)
    assert [row.position for row in rows] == [0, 1, 3, 4, 5]
    for row in rows:
        own = {name: figures.brokers[row.position] for name, figures in resources.items()}
        del own["replicas"], own["leaders"]
        share, hottest = max((one.load / (one.fair or 1), one.hottest) for one in own.values())
        assert (row.share, row.partition) == (f"{100 * share:.3g}", hottest)
        assert row.headroom.startswith("disk ")


def test_a_plan_by_count_has_them_without_bands() -> None:
    document = partage.plan(_known(), remove_broker=[2]).document()
    counted = view(document)
    rows = resource_rows(counted.figures_before, counted.figures)
    assert [row.name for row in rows] == list(LOAD_WORDS.values())
    assert {(row.band, row.within) for row in rows} == {("", None)}
    assert not any(load.banded for load in counted.loads)
    highest = highest_loads(counted.figures)
    assert [row.position for row in highest] == [0, 1, 3, 4, 5]
    assert {(row.band, row.within) for row in highest} == {("", None)}
    assert "band" not in resources_note(rows)
    page = render(document)
    assert "Every load" in page
    assert "Band, %" not in page


def test_without_rates_there_is_neither() -> None:
    other = view(documents.small())
    assert resource_rows(other.figures_before, other.figures) == []
    assert highest_loads(other.figures) == []


def test_the_page_has_them(document: dict[str, Any]) -> None:
    page = render(document)
    assert "Loads against their bands" in page
    assert "Highest load of each broker" in page
    assert "Loads against their bands" not in render(documents.small())


def test_rows_of_other_brokers_are_an_error(document: dict[str, Any]) -> None:
    figures = document["figures"]
    resources = figures["after"]["resources"]
    other = resources | {"disk": resources["disk"] | {"brokers": resources["disk"]["brokers"][1:]}}
    damaged = document | {"figures": figures | {"after": figures["after"] | {"resources": other}}}
    with pytest.raises(InputError, match=r"resources\.disk\.brokers: expected the ids"):
        view(damaged)
