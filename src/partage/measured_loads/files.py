"""Read the files of a profile directory: the marker and the Parquet tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from partage.errors import InputError, PartageError
from partage.measured_loads.places import Place
from partage.period import FIRST, LAST, Period

FORMAT_VERSION = 1

LONGEST_WINDOW = 10**9
"""Of a profile or a watch, in seconds."""


def checked_marker(about: Any, where: str) -> dict[str, Any]:
    """The contents of a marker with ``period``. Raises InputError."""
    from partage.json_input import check_json
    from partage.measured_loads.marker import Marker

    if not isinstance(about, dict) or "format_version" not in about:
        raise InputError(where, "no format_version: not written by `partage profile`")
    if about["format_version"] != FORMAT_VERSION:
        raise InputError(
            where,
            f"format_version is {about['format_version']!r}; "
            f"this partage reads {FORMAT_VERSION}: measure again",
        )
    written = about.get("format", "parquet")
    if str(written).lower() != "parquet":
        raise InputError(where, f"its tables are {written}, only Parquet is read: measure again")
    marker = check_json(about, Marker, where)
    try:
        period = Period.of(marker.since, marker.until, ("from", "to"))
    except InputError as error:
        raise InputError(where, str(error)) from None
    return about | {"period": period, "outside": marker.outside}


def read_table(place: Place, name: str, types: Mapping[str, str]) -> dict[str, Any]:
    """The named columns of a table of Parquet files: numpy arrays (times, ``ms``, as whole
    numbers), or lists of names and keys. Raises InputError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        from partage.installation import not_installed

        raise PartageError(not_installed("pyarrow, which reads profiles,", "spark")) from None

    where, files = place.shown(name), place.files(name)
    if not files:
        raise InputError(where, "has no Parquet files: the profile is not whole")
    schema = pa.schema(
        [
            (name, pa.timestamp("ms") if alias == "ms" else pa.type_for_alias(alias))
            for name, alias in types.items()
        ]
    )
    parts = []
    for file in files:
        try:
            # From bytes: a name like topic=a in the path must not become a column.
            table = pq.read_table(pa.BufferReader(place.read(file)))
            table.validate(full=True)  # texts must be UTF-8
            missing = [name for name in types if name not in table.column_names]
            if missing:
                raise InputError(place.shown(file), f"columns missing: {', '.join(missing)}")
            # times may be finer than they are needed
            parts.append(table.select(list(types)).cast(schema, safe="ms" not in types.values()))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a name of a column
            reason = str(error).strip().splitlines()[0][:200]
            raise InputError(place.shown(file), f"is not a readable table ({reason})") from None
    table = pa.concat_tables(parts)
    for name in types:
        if table[name].null_count:
            raise InputError(where, f"column {name} has nulls")

    def values(name: str, alias: str) -> Any:
        if alias in ("string", "binary"):
            return table[name].to_pylist()
        if alias != "ms":
            return table[name].to_numpy()
        times = table[name].to_numpy().astype(np.int64)
        if len(times) and not FIRST <= times.min() <= times.max() <= LAST:
            raise InputError(where, f"column {name} has a time before year 1 or after 9999")
        return times

    return {name: values(name, alias) for name, alias in types.items()}
