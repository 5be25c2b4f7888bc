"""demo --live: run it, print the results, and write its folder atomically."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from partage import interrupts
from partage.cli import next_step, output

PAGE = "live.html"


def live_demo(out: str, master: str | None, json: bool) -> None:
    """Expand a real cluster under load and write the results into the directory ``out``."""
    from partage.errors import InputError, PartageError
    from partage.files import parse_json, read_text
    from partage.installation import not_installed
    from partage.java import find_java
    from partage.outputs import check_directory, new_directory, write_file

    if master is not None:
        raise InputError("--master", "cannot be combined with --live, which does not use Spark")
    if find_spec("kafka") is None:
        raise PartageError(not_installed("kafka-python", "kafka"))
    find_java("demo --live")
    from rich.text import Text

    from partage.brokers.directory import MARKER as PLAN_FILE
    from partage.brokers.directory import REPORT
    from partage.demo.expansion import MARKER, PLAN, expand
    from partage.demo.status import Status
    from partage.report.html import render
    from partage.report.live_line import LiveLine
    from partage.report.live_page import checks, headline, lead
    from partage.report.live_page import render as render_live

    check_directory(out, MARKER)
    with interrupts.once(), new_directory(out, MARKER) as folder:
        status = Status()
        with output.running_line(LiveLine(status), quiet=json):
            results = expand(folder, status=status)
        plan = folder / PLAN
        document = parse_json(read_text(plan / PLAN_FILE), str(plan / PLAN_FILE))
        write_file(plan / REPORT, render(document), new=True)
        write_file(folder / PAGE, render_live(results), new=True)
    page = str(Path(out) / PAGE)
    if json:
        output.print_json({"page": page, **results})
        return
    console = output.console()
    console.print(Text(f"{headline(results)}\n", "bold"))
    console.print(lead(results) + "\n", highlight=False)
    for verdict, text in checks(results):
        console.print(f"{'✓' if verdict == 'good' else '✗'} {text}", highlight=False)
    seconds = f"{results['seconds']:.0f} s in total, including starting and stopping Kafka."
    console.print(f"\n{seconds}", highlight=False)
    output.print_line(console, f"Page: {page}")
    next_step.show(console, "sandbox", "up")
