"""What is shipped: a wheel and an sdist, installed where nothing else is, far from the repository.

The installed versions are those of ``uv.lock``, which uv has in its cache once the environment of
the tests is made. Only the build's own tools may be fetched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

import partage

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300
MOST_CODE_BYTES, MOST_BYTES = 1_400_000, 5_000_000
"""Of the wheel without the bundled data, and with it."""

UV = shutil.which("uv") or shutil.which(ROOT / ".tools" / "bin" / "uv")
"""Where the Makefile has it."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(UV is None, reason="no uv, on the PATH or in .tools/bin"),
]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, the wheel made from it, and in ``direct`` the wheel of the tree."""
    folder = tmp_path_factory.mktemp("built")
    uv("build", "--quiet", "--out-dir", str(folder), str(ROOT))
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder / "direct"), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Makes a virtual environment with the wheel and extras (``[spark]``), and gives what runs
    there: ``partage ...`` or ``python ...`` in a folder."""
    lock = built / "lock.txt"
    export = ("export", "--quiet", "--frozen", "--no-emit-project", "--no-hashes", "--all-extras")
    uv(*export, "--output-file", str(lock), cwd=ROOT)

    def make(extras: str = "") -> Run:
        venv = tmp_path_factory.mktemp("installed")
        uv("venv", "--quiet", "--python", sys.executable, str(venv / "venv"))
        python = venv / "venv" / "bin" / "python"
        wheel = f"{wheel_of(built)}{extras}"
        uv("pip", "install", "--quiet", "--python", str(python), "--constraints", str(lock), wheel)
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PARTAGE_", "PYTHON", "VIRTUAL_ENV", "SPARK_"))
        }
        # no jars that other tests have fetched
        clean["XDG_CACHE_HOME"] = str(venv / "cache")

        def run(program: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
            command = [str(python.with_name(program)), *words]
            return subprocess.run(
                command, cwd=cwd, env=clean, capture_output=True, text=True, timeout=SECONDS
            )

        return run

    return make


@pytest.fixture(scope="module")
def bare(installed: Callable[[str], Run]) -> Run:
    """partage without extras."""
    return installed("")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, bare: Run) -> Path:
    """A folder with the bundled files, and a plan."""
    folder = tmp_path_factory.mktemp("work")
    data = Path(partage.__file__).parent / "data"
    shutil.copy(data / "cluster-grown.json", folder / "cluster.json")
    shutil.copytree(data / "groups", folder / "groups")
    planned = bare("partage", "plan", "cluster.json", "-o", "p", cwd=folder)
    assert planned.returncode == 0, planned.stderr
    assert "200 replicas move (proven minimum)" in planned.stdout
    return folder


def uv(*words: str, cwd: Path | None = None) -> None:
    assert UV is not None
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [UV, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"uv {words[0]}: {done.stderr}"


def wheel_of(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def content(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# ---------------------------------------------------------------- what is in them


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    shipped = content(wheel_of(built / "direct"))
    source = ROOT / "src" / "partage"
    expected = {
        f"partage/{file.relative_to(source).as_posix()}"
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in shipped if ".dist-info/" not in name} == expected
    assert "partage/py.typed" in expected
    kinds = {Path(name).suffix for name in expected}
    assert kinds >= {".py", ".html", ".css", ".js", ".json", ".parquet", ".log"}
    assert wheel_of(built / "direct").stat().st_size < MOST_BYTES
    with ZipFile(wheel_of(built / "direct")) as archive:
        code = [one for one in archive.infolist() if not one.filename.startswith("partage/data/")]
        assert sum(one.compress_size for one in code) < MOST_CODE_BYTES


def test_the_sdist_gives_the_same_wheel(built: Path) -> None:
    assert content(wheel_of(built)) == content(wheel_of(built / "direct"))
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/partage/__init__.py"} <= names
    assert not {name for name in names if "__pycache__" in name or name.startswith(".venv")}


def test_wheel_metadata(built: Path) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    shipped = content(wheel_of(built))
    (metadata,) = (text.decode() for name, text in shipped.items() if name.endswith("/METADATA"))
    needs = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert needs == [re.match(r"[\w-]+", one)[0] for one in project["dependencies"]]  # type: ignore[index]
    assert not set(needs) & {"pyspark", "pyarrow", "pandas", "kafka-python", "aiokafka"}
    extras = set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE))
    assert extras >= {"spark", "kafka", "aiokafka"}
    assert f"Version: {partage.__version__}\n" in metadata
    named = {
        extra
        for name, text in shipped.items()
        if name.endswith(".py")
        for call in (r"adding\([\"'](\w+)[\"']\)", r"not_installed\([^()]*, [\"'](\w+)[\"']\)")
        for extra in re.findall(call, text.decode())
    }
    assert named == {"spark", "connect", "kafka"}
    assert named <= extras


# ---------------------------------------------------------------- without extras


def test_it_stays_light(bare: Run, tmp_path: Path) -> None:
    show = (
        "import json, sys; from importlib.util import find_spec; import partage; "
        "print(json.dumps([partage.__file__, sorted(sys.modules), "
        "[m for m in ('pyspark', 'pyarrow', 'kafka', 'aiokafka') if find_spec(m)]]))"
    )
    done = bare("python", "-c", show, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file, modules, there = json.loads(done.stdout)
    assert not Path(file).is_relative_to(ROOT)
    assert there == []
    # ortools brings pandas along
    assert not {"numpy", "pandas", "scipy", "ortools", "rich", "typer"} & set(modules)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--version"], f"partage {partage.__version__}\n"),
        (["check", "p"], "The plan is valid and optimal"),
        (["compare", "cluster.json", "--strategy", "generate"], "generate"),
        (["report", "p"], "report.html"),
        (["assign", "groups/five-topics.json", "--assignor", "sticky"], "sticky"),
        (["plan", "cluster.json", "--json"], '"moves":200,'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_commands_without_extras(bare: Run, work: Path, words: Sequence[str], shown: str) -> None:
    done = bare("partage", *words, cwd=work)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("demo -o d", "spark"),
        ("demo --live -o d", "kafka"),
        ("profile cluster.json -o d", "spark"),
        ("keys cluster.json --partitions 6", "spark"),
        ("watch . -o d --cluster cluster.json", "spark"),
        ("what-if churn groups/five-topics.json", "spark"),
        ("history groups/logs/java-eager/a.log", "spark"),
        ("snapshot --bootstrap-server localhost:1 -o d", "kafka"),
        ("groups --bootstrap-server localhost:1", "kafka"),
        ("plan --bootstrap-server localhost:1", "kafka"),
        ("apply p --bootstrap-server localhost:1", "kafka"),
        ("rollback p --bootstrap-server localhost:1", "kafka"),
        ("verify p --bootstrap-server localhost:1", "kafka"),
    ],
)
def test_commands_that_need_an_extra_name_it(bare: Run, work: Path, words: str, extra: str) -> None:
    before = sorted(work.iterdir())
    done = bare("partage", *words.split(), cwd=work)
    assert done.returncode == 1
    *progress, last = done.stderr.splitlines()
    assert last.startswith("partage: ")
    assert re.search(rf"pip install (--python \S+ )?'/\S+\.whl\[{extra}\]'$", last), last
    assert all(line.startswith("… ") for line in progress), done.stderr
    assert sorted(work.iterdir()) == before


# ---------------------------------------------------------------- with Spark


@pytest.mark.spark
def test_the_demo_runs_far_from_the_repository(
    installed: Callable[[str], Run], bare: Run, tmp_path: Path
) -> None:
    spark = installed("[spark]")
    done = spark("partage", "demo", "-o", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "plan" / "report.html").exists()
    assert "proofs hold" in done.stdout
    found = spark("python", "-c", "import kafka", cwd=tmp_path)
    assert "No module named 'kafka'" in found.stderr

    profile = str(tmp_path / "demo" / "profile")
    cluster = str(Path(partage.__file__).parent / "data" / "cluster-grown.json")
    refused = bare("partage", "plan", cluster, "--profile", profile, cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.endswith(".whl[spark]'\n")
    assert len(refused.stderr.splitlines()) == 1


# ---------------------------------------------------------------- from a clone, as users install


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone, of what is committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a Git repository")
    folder = tmp_path_factory.mktemp("clone") / "partage"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, timeout=SECONDS)
    return folder


@pytest.fixture
def shell(tmp_path: Path) -> Run:
    """Runs lines in a new shell of a user who has uv and Python, and nothing of ours."""
    assert UV is not None
    kept = ("LANG", "JAVA_HOME", "SSL_CERT_FILE", "PIP_INDEX_URL", "UV_INDEX_URL", "https_proxy")
    user = {name: os.environ[name] for name in kept if name in os.environ}
    user["HOME"] = str(tmp_path / "home")
    user["UV_CACHE_DIR"] = subprocess.check_output([UV, "cache", "dir"], text=True).strip()
    programs = (Path(UV).parent, Path(sys.executable).resolve().parent, "/usr/bin", "/bin")
    user["PATH"] = ":".join([f"{tmp_path}/home/.local/bin", *map(str, programs)])

    def run(*lines: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-ec", "\n".join(lines)],
            cwd=cwd,
            env=user,
            capture_output=True,
            text=True,
            timeout=900,
        )

    return run


INSTALL = {
    "pip": ["python3 -m venv .venv", ". .venv/bin/activate", "pip install --quiet ."],
    "pip, not activated": ["python3 -m venv .venv", ".venv/bin/pip install --quiet ."],
    "uv": ["uv tool install --quiet ."],
    "pipx": ["uv tool install --quiet pipx", "pipx install --quiet ."],
}
"""As docs/get-started.md shows them, and without activating."""


@pytest.mark.parametrize("way", INSTALL)
def test_installed_from_a_clone(clone: Path, shell: Run, tmp_path: Path, way: str) -> None:
    """doctor is content; what is missing is named with the line that installs it, in this shell."""
    copy = tmp_path / "my copy"
    shutil.copytree(clone, copy)
    program = ".venv/bin/partage" if way.endswith("activated") else "partage"
    again = [". .venv/bin/activate"] if way == "pip" else []
    done = shell(*INSTALL[way], f"{program} doctor", cwd=copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✗" not in done.stdout
    assert done.stdout.splitlines()[-1] == f"Next: {program} plan CLUSTER -o plan/"
    refused = shell(*again, f"{program} snapshot --bootstrap-server localhost:1", cwd=copy)
    assert refused.returncode == 1
    assert refused.stderr.startswith("partage: kafka-python is not installed: ")
    add = refused.stderr.strip().removeprefix("partage: kafka-python is not installed: ")
    added = shell(*again, add, f"{program} doctor", cwd=copy)
    assert added.returncode == 0, added.stderr
    assert "✓ kafka " in added.stdout
