"""What goes wrong while Kafka is connected is Kafka's only if it is about the connection."""

from __future__ import annotations

import errno
import os

import pytest

pytest.importorskip("kafka")

from partage.errors import PartageError
from partage.live.admin.connection import one_line_errors


@pytest.mark.parametrize("kind", [errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ETIMEDOUT])
def test_errors_of_the_connection(kind: int) -> None:
    words = os.strerror(kind)
    with (
        pytest.raises(PartageError, match=f"^Kafka at h:9092: {words}$"),
        one_line_errors("h:9092"),
    ):
        raise OSError(kind, words)


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
@pytest.mark.parametrize("name", [None, "plan/x.json"])
def test_errors_of_the_disk(kind: int, name: str | None) -> None:
    with pytest.raises(OSError, match=os.strerror(kind)), one_line_errors("h:9092"):
        raise OSError(kind, os.strerror(kind), name)


def test_errors_of_a_file() -> None:
    with pytest.raises(PermissionError), one_line_errors("h:9092"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "plan/x.json")
