"""``PARTAGE_*`` variables that partage does not read, most of them misspelt.

They are a warning, not an error as in ``partage.toml``: other programs set variables of any name,
and Kubernetes sets some for every service called ``partage``. A command warns of those that could
be its own. Variables of another command are left to that one, so that only the command that runs is
imported; ``doctor`` knows them all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches

from partage.cli import settings
from partage.cli.command_list import SECTION_OF
from partage.cli.compat import Command
from partage.cli.settings_file import VARIABLE

_START = f"{settings.PREFIX}_"

_OF_A_SERVICE = re.compile(r"_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_\w+)?)$")
"""What Kubernetes and Docker add to the name of a service: ``PARTAGE_WEB_PORT_80_TCP_ADDR``."""


def misspelt(command: Command, path: settings.CommandPath) -> Iterator[tuple[str, str]]:
    """The variables that a command of these words could have read and does not, with advice.

    ``command``: the one that the first of the words names, with all below it."""
    own = of_options(command, path[:1])
    others = [f"{_START}{_word(name)}_" for name in SECTION_OF if name != path[0]]
    rest = [
        name
        for name, value in os.environ.items()
        if name.startswith(_START)
        and value
        and name not in own
        and not any(map(name.startswith, others))
        and not _OF_A_SERVICE.search(name)
    ]
    if not rest:
        return
    known = own | of_all_commands()
    for name in sorted(rest):
        if name not in known:
            yield name, advice(name, known)


def advice(name: str, known: Collection[str]) -> str:
    """What to do about a variable that is not among the known ones."""
    near = get_close_matches(_end(name), sorted(map(_end, known)), 1)
    return f"did you mean {_START}{near[0]}?" if near else "unset it: nothing reads it"


def of_options(command: Command, path: settings.CommandPath = ()) -> set[str]:
    """The variables of the options of a command and of all below it."""
    return {
        name
        for words, one in settings.commands(command, path)
        for option in settings.options(one)
        for name in settings.variables(words, option)
    }


def of_all_commands() -> set[str]:
    """The variables that do not belong to a command."""
    from partage.jars import MIRROR
    from partage.live.sandbox.jars import OWN_JARS
    from partage.properties import KNOWN, PASSWORD, USERNAME, variable

    shared = (name for option in settings.SHARED for name in settings.variables((), option))
    others = VARIABLE, MIRROR, OWN_JARS, USERNAME, PASSWORD, "PARTAGE_SPARK_KAFKA"
    return {*shared, *map(variable, KNOWN), *others}


def _word(name: str) -> str:
    return name.upper().replace("-", "_")


def _end(name: str) -> str:
    return name.removeprefix(_START)
