"""Errors of Spark as errors of one line: what failed, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from partage.errors import InputError, PartageError
from partage.pipeline.compat_pyspark import errors, java_exit


class DamagedFileError(InputError):
    """A file that is there, and can be opened, but cannot be read."""


_FULL = "No space left on device|Disk quota exceeded|File too large|Read-only file system"

_DISK = re.compile(_FULL)
"""How Java, and Python on a worker, name a disk that cannot be written."""

_OUTPUT = re.compile(rf"(?:{_FULL}).*\n(?:\s+at java\..*\n)*\s+at org\.apache\.hadoop\.")
"""What was written was an output, not a temporary file of Spark or of a library."""

_DAMAGED = re.compile(
    "FAILED_READ_FILE|UNABLE_TO_INFER_SCHEMA|is not a Parquet file|InvalidProtocolBufferException"
    "|readOrcSchemasInParallel|Not an Avro data file|AvroRuntimeException"
)
"""What Spark writes about damaged files, and about others that cannot be read."""

_COLON = re.compile(r"Relative path in absolute URI: (\S+)")
"""What it writes of a pattern in a folder that has a name with a colon."""

_TWICE = re.compile(r"COLUMN_ALREADY_EXISTS\] The column `([^`]+)`")
"""What it writes of columns whose names differ in case only."""

_OTHER_TYPE = re.compile(
    r"Parquet column \[(\S+)\]\. Expected Spark type (\S+), actual Parquet type (\S+)\."
)
"""What it writes about a column that has another type than the schema in the file's metadata."""

_NOT_DAMAGED = re.compile(
    "FILE_NOT_EXIST|FileNotFound|Permission|Access ?(Control|Denied)|Forbidden|UnknownHost|Connect"
    "|[Tt]imed ?out|Timeout"
)
"""What it writes if a file cannot be opened: it may be read another time."""

_STACK = re.compile(r"\s+at ")

_OUT_OF_MEMORY = (
    "Spark: out of memory: give Java more, --conf spark.driver.memory=4g for a local Spark, "
    "spark.executor.memory for a cluster"
)

_EXIT_OUT_OF_MEMORY = 52
"""The exit code of Spark's processes, the driver's and the executors', that had no memory."""

_CAUSES: Mapping[str, str] = {
    (
        "OutOfMemoryError|Java heap space|GC overhead limit|OOMKilled|running beyond .* memory"
        rf"|[Ee]xit(?:ed with)? (?:code|status):? (?:{_EXIT_OUT_OF_MEMORY}|137)\b"
    ): _OUT_OF_MEMORY,
    r"bigger than (local )?(max result size|maxResultSize|spark\.driver\.maxResultSize)": (
        "Spark: a result exceeds spark.driver.maxResultSize: share the output directory with "
        "Spark's machines, or raise the limit with --conf"
    ),
    "StatusCode.UNAVAILABLE|INVALID_HANDLE|OPERATION_NOT_FOUND": (
        "Spark: the Spark Connect server ended, or cannot be reached any more: run it again once "
        "the server answers"
    ),
    "UnsatisfiedLinkError": (
        "Spark: Java cannot load a library from its temporary directory: it is full, or mounted "
        "with noexec (another one: --conf spark.driver.extraJavaOptions=-Djava.io.tmpdir=DIR, and "
        "spark.executor.extraJavaOptions)"
    ),
    "Master removed our application|All masters are unresponsive": (
        "Spark: the cluster's master ended the application, or itself: its log says why"
    ),
}
"""What a message of Spark matches, and the cause that it has. The first match counts."""

_JAVA_ENDED = re.compile(
    "Answer from Java side is empty|Connection reset by peer|while trying to connect to the Java"
    "|SparkContext was shut ?down|stopped SparkContext"
)
"""What is raised if Spark's Java process has ended, or is about to."""

_MAY_HAVE_ENDED = re.compile("Connection refused|because .* is null|while sending or receiving")
"""What is raised then, too, but also for other reasons."""


@contextmanager
def spark_errors(where: str = "", out: str = "") -> Iterator[None]:
    """Turn errors of Spark into errors of one line.

    InputError for a file that is missing or cannot be read (``where``, or the file that Spark
    names), and for any error if ``where`` is given; for a full disk if ``out``, which Spark writes,
    is given; PartageError otherwise.
    """
    try:
        yield
    except errors() as error:
        if _interrupted(error):
            raise KeyboardInterrupt from None
        text = str(error)
        if ended := _java_ended(text):
            raise PartageError(ended) from None
        named = re.search(
            r"(?:reading file|does not exist:) (?:file:(?://)?)?(\S+?)\.?(?:\s|$)", text
        )
        file = where or (named[1] if named else "")
        if full := _DISK.search(text):
            if out and _OUTPUT.search(text):
                raise InputError(out, f"cannot be written ({full[0]})") from None
            raise PartageError(
                f"Spark: {full[0]}: free some space for its temporary files (SPARK_LOCAL_DIRS, by "
                "default /tmp) and for the output"
            ) from None
        if "PATH_NOT_FOUND" in text:
            raise InputError(file, "no such file or directory") from None
        read = named[1] if named else file
        base = read.rpartition("/")[2]
        if (colon := _COLON.search(text)) or ("FAILED_READ_FILE" in text and ":" in base):
            named_so = colon[1] if colon and ":" not in base else base
            problem = f"Spark does not accept the colon in {named_so}: rename it"
            raise InputError(read, f"cannot be read: {problem}") from None
        if twice := _TWICE.search(text):
            problem = f"has the column {twice[1]} twice, in upper and lower case: rename one"
            raise InputError(file, problem) from None
        if other := _OTHER_TYPE.search(text):
            raise DamagedFileError(
                named[1] if named else file,
                f"column {other[1]} is {other[3]} where the schema of Spark in its metadata says "
                f"{other[2]}: write the file without that metadata, which another program copied",
            ) from None
        if _DAMAGED.search(text):
            messages = "\n".join(one for one in text.splitlines() if not _STACK.match(one))
            kind = InputError if _NOT_DAMAGED.search(messages) else DamagedFileError
            raise kind(
                named[1] if named else file,
                "cannot be read: it is damaged, or its format is not that of its name",
            ) from None
        if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", text):
            raise PartageError(
                f"Python on the workers has no {missing[1]}: install it there, or set "
                "PYSPARK_PYTHON to a Python that has it"
            ) from None
        for pattern, cause in _CAUSES.items():
            if re.search(pattern, text):
                raise PartageError(cause) from None
        if where:
            raise InputError(where, one_line(text)) from None
        raise PartageError(f"Spark: {one_line(text)}") from None


def _java_ended(text: str) -> str:
    """Why there is no Java process any more; empty if the error is another one."""
    surely = _JAVA_ENDED.search(text)
    if not surely and not _MAY_HAVE_ENDED.search(text):
        return ""
    code = java_exit()
    if code == _EXIT_OUT_OF_MEMORY:
        return _OUT_OF_MEMORY
    return "Spark: its Java process ended: out of memory, or killed" if surely or code else ""


def _interrupted(error: BaseException) -> bool:
    """Whether the error came while a Ctrl-C was handled, which closes connections to Java."""
    earlier = error.__context__
    return isinstance(earlier, KeyboardInterrupt) or (earlier is not None and _interrupted(earlier))


def one_line(text: str) -> str:
    """The relevant sentence of a message of Spark, without class names and codes."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    line = lines[0] if lines else "no message"
    if "Traceback (most recent call last)" in text:  # from Python on a worker
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
        line = next(iter(raised), line)
    elif "Exception thrown in awaitResult" in line:  # from the thread that waited for the job
        causes = [line for line in lines if line.startswith("Caused by: ")]
        line = next(iter(causes), line).removeprefix("Caused by: ")
        line = re.sub(r".*Job aborted due to stage failure: .*? executor \w+\): ", "", line)
    line = re.sub(r"^:?\s*(?:[\w$]+\.)+[\w$]+:\s*", "", line)
    line = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", line)
    line = re.sub(r"\s*SQLSTATE: \w+;?$", "", line)
    # partage's own messages name options in backquotes
    return line.replace("`.`", ".").replace("`", "'")[:300]
