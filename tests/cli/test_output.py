"""The running line: drawn again on a terminal, printed at a bounded pace elsewhere."""

from __future__ import annotations

import io
import itertools
import threading

import pytest

from partage.cli import output


def counted(enough: int) -> tuple[threading.Event, list[str], object]:
    """An event that is set once a line was asked for so often, the lines, and their source."""
    done, lines, numbers = threading.Event(), [], itertools.count(1)

    def line() -> str:
        lines.append(f"line {next(numbers)}")
        if len(lines) >= enough:
            done.set()
        return lines[-1]

    return done, lines, line


def test_without_a_terminal_a_line_each_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_LINE_SECONDS", 0.01)
    done, lines, line = counted(4)
    with output.running_line(line):  # type: ignore[arg-type]
        assert done.wait(60)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == lines
    assert "\x1b" not in err


def test_a_run_shorter_than_the_pace_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert output._LINE_SECONDS >= 5
    with output.running_line(lambda: "never"):
        pass
    assert capsys.readouterr().err == ""


def test_on_a_terminal_one_line_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "40"), ("LINES", "24")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    done, _, line = counted(3)
    with output.running_line(lambda: line() + " " + "x" * 100):  # type: ignore[operator]
        assert done.wait(60)
    drawn = screen.getvalue()
    assert "line 1" in drawn
    assert "\x1b[2K" in drawn  # drawn again in place
    assert "…" in drawn  # cut, not wrapped
    assert "x" * 41 not in drawn


def test_a_quiet_run_asks_for_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    done, _, line = counted(1)
    with output.running_line(line, quiet=True):  # type: ignore[arg-type]
        assert not done.is_set()
    assert capsys.readouterr().err == ""


def test_the_thread_ends_with_the_block_also_after_an_error() -> None:
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), output.running_line(lambda: "x"):
        raise KeyboardInterrupt
    assert threading.active_count() == before
