"""scripts/record_terminal.py: what a terminal shows while a command changes it."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from tests.scripts import loaded
from tests.test_docs import ROOT


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return loaded(ROOT / "scripts" / "record_terminal.py")


def test_a_line_is_erased_and_written_again(recorder: ModuleType) -> None:
    screen = recorder.Screen()
    screen.write("first\r\n\x1b[?25lwave 1\r\nbar 10 %")
    screen.write("\r\x1b[2K\x1b[1A\x1b[2Kwave 1\r\n\x1b[32mbar\x1b[0m 20 %")
    assert screen.lines == ["first", "wave 1", "\x1b[32mbar\x1b[0m 20 %"]
    screen.write("\r\x1b[2K\x1b[1A\x1b[2Kdone\r\n")
    assert screen.lines == ["first", "done", ""]


def test_a_command_is_seen_while_it_changes(
    recorder: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "SEEN_EVERY", 0.0)
    code = (
        "import sys, time\n"
        "for part in (10, 20):\n"
        "    sys.stdout.write(f'\\r\\x1b[2Kbar {part} %'); sys.stdout.flush(); time.sleep(0.2)\n"
        "print('\\r\\x1b[2KDone <here>')"
    )
    seen = recorder.watch(f'{sys.executable} -c "{code}"')
    assert seen.frames[-1] == ["Done <here>"]
    assert ["bar 10 %"] in seen.frames
    picture = recorder.drawn([recorder.Run("ls", [["a", "b"]]), seen])
    texts = re.findall("<text(.*?)>(.*)</text>", picture)
    bars = [look for look, text in texts if text.startswith("bar")]
    assert len(bars) == 2
    assert all('class="gone"' in look for look in bars)  # hidden where motion is not wanted
    assert [text for look, text in texts if "gone" not in look][1:3] == ["a", "b"]
    (done,) = (look for look, text in texts if text == "Done &lt;here&gt;")
    rows = {row for look in (*bars, done) for row in re.findall(r'y="(\d+)"', look)}
    assert len(rows) == 1


def test_a_command_that_fails_is_not_drawn(recorder: ModuleType) -> None:
    for ran in (recorder.run, recorder.watch):
        with pytest.raises(recorder.subprocess.CalledProcessError):
            ran("false")
