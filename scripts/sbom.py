"""List what partage installs and downloads, in sbom/: partage.cdx.json (CycloneDX), licences.txt.

Reads uv's export of uv.lock, with all extras, from stdin: versions, hashes, dependencies. Licences
come from the metadata of the installed packages, and jars from their lock files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot5
from packageurl import PackageURL

from partage.jars import LOCKS, Jar, locked_jars

_CLASSIFIER = "License :: OSI Approved :: "


def described(exported: str) -> Bom:
    """The bill of materials: uv's components with licences, and a component per jar."""
    bom: Bom = Bom.from_json(json.loads(exported))  # type: ignore[attr-defined]
    for component in bom.components:
        if found := licence(component.name):
            component.licenses.add(LicenseFactory().make_from_string(found))
    names = sorted(path.stem for path in LOCKS.glob("*.toml"))
    sets: dict[Jar, list[str]] = {}
    for name in names:
        for jar in locked_jars(name):
            sets.setdefault(jar, []).append(name)
    bom.components.update(of_jar(jar, within) for jar, within in sets.items())
    return bom


def of_jar(jar: Jar, sets: Iterable[str]) -> Component:
    """A jar, with the sets that contain it as properties."""
    purl = PackageURL("maven", jar.group, jar.artifact, jar.version)
    return Component(
        type=ComponentType.LIBRARY,
        group=jar.group,
        name=jar.artifact,
        version=jar.version,
        purl=purl,
        bom_ref=str(purl),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=jar.sha256)],
        licenses=[LicenseFactory().make_from_string(jar.licence)],
        properties=[Property(name="partage:jars", value=name) for name in sets],
    )


def licence(package: str) -> str | None:
    """The licence that an installed package names, as an SPDX expression where it has one; None
    for a package that is not installed on this platform."""
    try:
        found = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return None
    classifiers = [
        line.removeprefix(_CLASSIFIER)
        for line in found.get_all("Classifier", [])
        if line.startswith(_CLASSIFIER)
    ]
    named = found.get("License-Expression") or found.get("License") or ""
    if named and "\n" not in named:
        return named
    return classifiers[0] if classifiers else named.partition("\n")[0] or None


def listed(bom: Bom) -> str:
    """A line per component: package URL and licences."""
    lines = (
        f"{component.purl}  {' OR '.join(map(str, names(component))) or 'not installed here'}\n"
        for component in bom.components
    )
    return "".join(sorted(lines))


def names(component: Component) -> list[str]:
    """The names of a component's licences."""
    return sorted(
        getattr(one, "value", None) or getattr(one, "id", None) or one.name
        for one in component.licenses
    )


if __name__ == "__main__":
    bom = described(sys.stdin.read())
    folder = Path("sbom")
    folder.mkdir(exist_ok=True)
    text = JsonV1Dot5(bom).output_as_string(indent=2)
    (folder / "partage.cdx.json").write_text(text + "\n", encoding="utf-8")
    (folder / "licences.txt").write_text(listed(bom), encoding="utf-8")
    print(f"{folder}: {len(bom.components)} components")
