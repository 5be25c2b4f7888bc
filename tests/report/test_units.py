"""Numbers as people read them."""

from __future__ import annotations

import pytest

from partage.report import units


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (units.size(0), "0 B"),
        (units.size(999), "999 B"),
        (units.size(999.6), "1.00 kB"),
        (units.size(6_877_544_000), "6.88 GB"),
        (units.size(999_950), "1.00 MB"),
        (units.size(123_456_789_000_000), "123 TB"),
        (units.size(None), "–"),
        (units.rate(0), "0 B/s"),
        (units.rate(0.00001), "<1 B/day"),
        (units.rate(0.0004), "35 B/day"),
        (units.rate(0.53), "45.8 kB/day"),
        (units.rate(2.5), "216 kB/day"),
        (units.rate(999), "86.3 MB/day"),
        (units.rate(999.7), "1.00 kB/s"),
        (units.rate(1_200_000), "1.20 MB/s"),
        (units.count(13_630), "13,630"),
        (units.common(6_877_544_000), (1e9, "GB")),
        (units.common_rate(1_200_000), (1e6, "MB/s")),
        (units.common_rate(0.5), (1000 / 86_400, "kB/day")),
        (units.common_rate(0), (1.0, "B/s")),
        (units.span([54, 81]), "54–81"),
        (units.span([20, 20]), "20"),
        (units.duration(0.001), "<0.01 s"),
        (units.duration(0.2), "0.20 s"),
        (units.duration(0), "0 s"),
        (units.duration(2), "2 s"),
        (units.duration(2.04), "2.0 s"),
        (units.duration(45), "45 s"),
        (units.duration(60), "1 min"),
        (units.duration(95), "1 min 35 s"),
        (units.duration(599.6), "10 min"),
        (units.duration(720), "12 min"),
        (units.duration(3_599), "1 h"),
        (units.duration(7_560), "2 h 6 min"),
        (units.duration(12_000), "3 h 20 min"),
        (units.duration(187_200), "2 d 4 h"),
        (units.duration(85_850 * 86_400 + 15 * 3600), "85,850 d 15 h"),
        (units.plural(1, "move"), "1 move"),
        (units.plain({"value": 3, "bound": 2.5}), "value 3, bound 2.5"),
        (units.plain(True), "yes"),
        (units.tenth(60.75), "60.8"),
        (units.tenth(54.0), "54"),
    ],
)
def test_numbers_have_three_digits_and_a_unit(shown, text):
    assert shown == text
