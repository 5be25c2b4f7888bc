"""Write files and directories. Nothing else in partage does.

*Completely or not at all*: a file or a directory is written under a temporary name beside its place
and then renamed. The disk has the content before the rename, and the name when the call returns
(``durable``).

*Only what partage wrote is ever replaced or removed*, and only as long as it has not been changed.
A text file has a checksum of itself (``checksum``). A directory has a list of its files with their
checksums, ``.partage.json`` (``directory``). Anything else at the place is an error.

*Links are not followed*: an output that is a symbolic link is an error, and so is one below a
directory of partage's. The path to it may contain links.

*Modes are kept*: a new file has the mode that the umask leaves, a replaced one keeps its own.
"""

from __future__ import annotations

from partage.outputs.checksum import (
    CHECKSUM,
    json_with_checksum,
    lines_with_checksum,
    markup_with_checksum,
    with_checksum,
)
from partage.outputs.directory import (
    LIST,
    check_directory,
    new_directory,
    scratch_folder,
    write_directory,
)
from partage.outputs.file import (
    check_file,
    keep_previous,
    move_file,
    open_to_append,
    refuse_changed,
    remove_file,
    write_file,
)
from partage.outputs.folder import make_folder, refuse_link, remove_known
from partage.outputs.place import is_of_the_disk, is_store, is_url

__all__ = [
    "CHECKSUM",
    "LIST",
    "check_directory",
    "check_file",
    "is_of_the_disk",
    "is_store",
    "is_url",
    "json_with_checksum",
    "keep_previous",
    "lines_with_checksum",
    "make_folder",
    "markup_with_checksum",
    "move_file",
    "new_directory",
    "open_to_append",
    "refuse_changed",
    "refuse_link",
    "remove_file",
    "remove_known",
    "scratch_folder",
    "with_checksum",
    "write_directory",
    "write_file",
]
