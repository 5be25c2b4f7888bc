"""The private parts of pyspark that partage uses, in the release installed.

A failure here means that ``partage.pipeline.compat_pyspark`` must change, and nothing else.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from partage.pipeline.compat_pyspark import java_runs


def test_the_parameters_of_launch_gateway() -> None:
    assert list(inspect.signature(launch_gateway).parameters) == ["conf", "popen_kwargs"]
    assert "Popen(command, **popen_kwargs)" in inspect.getsource(launch_gateway)


def test_ensure_initialized_takes_a_gateway() -> None:
    """``SparkContext._ensure_initialized``."""
    assert "gateway" in inspect.signature(SparkContext._ensure_initialized).parameters


def test_a_context_uses_the_gateway_of_its_class() -> None:
    """``SparkContext._gateway``: None until a Java process runs, and then used again."""
    source = inspect.getsource(SparkContext._ensure_initialized)
    assert "if not SparkContext._gateway:" in source
    assert "SparkContext._gateway = gateway or launch_gateway(conf)" in source


def test_a_gateway_has_its_process() -> None:
    """``SparkContext._gateway.proc``."""
    assert "gateway.proc = proc" in inspect.getsource(launch_gateway)


@pytest.mark.spark
def test_java_runs_with_a_session(spark: Any) -> None:
    assert java_runs()
