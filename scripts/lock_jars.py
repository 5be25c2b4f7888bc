"""Write the lock files of the jars that partage downloads: src/partage/data/jars/NAME.toml.

PySpark's Ivy resolves each set from Maven Central, over TLS and against the checksums that are
published there. Each jar is recorded with its Maven coordinates, SHA-256 and licence. Run after
adding a version to SETS, and read the difference before committing it:

    .venv/bin/python scripts/lock_jars.py kafka-4.3.1
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from partage.java import find_java

LOCKS = Path(__file__).parents[1] / "src" / "partage" / "data" / "jars"

# Most dependencies of kafka-tools belong to Connect, which nothing here starts.
# log4j-slf4j-impl is in Kafka's archive but not among its dependencies; nodes log through it.
KAFKA = """\
<dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
<dependency org="org.apache.kafka" name="kafka-tools" rev="{version}">
  <exclude org="org.apache.kafka" module="connect-runtime"/>
</dependency>
<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>"""

# Kafka 3 logs through log4j 1 by default; so that all versions log alike, that binding is left out.
KAFKA_3 = KAFKA.replace(
    '<dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>',
    """\
<dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}">
  <exclude org="org.slf4j" module="slf4j-reload4j"/>
</dependency>""",
).replace(
    '<exclude org="org.apache.kafka" module="connect-runtime"/>',
    """\
<exclude org="org.slf4j" module="slf4j-reload4j"/>
  <exclude org="org.apache.kafka" module="connect-runtime"/>
  <exclude org="org.apache.kafka" module="connect-api"/>""",
)

# Without the libraries that Spark itself has.
CONNECTOR = """\
<dependency org="org.apache.spark" name="spark-sql-kafka-0-10_2.13" rev="{version}">
  <exclude org="org.apache.hadoop"/>
  <exclude org="org.scala-lang" module="scala-library"/>
</dependency>"""

# Spark itself has all libraries that it needs.
AVRO = """\
<dependency org="org.apache.spark" name="spark-avro_2.13" rev="{version}">
  <exclude org="org.apache.avro"/>
  <exclude org="org.apache.spark" module="spark-tags_2.13"/>
  <exclude org="org.scala-lang"/>
  <exclude org="org.scala-lang.modules"/>
  <exclude org="org.tukaani"/>
  <exclude org="com.google.code.findbugs"/>
</dependency>"""

# Tables of Delta and Iceberg, by Spark's version, without the libraries that Spark itself has.
DELTA = """\
<dependency org="io.delta" name="delta-spark_{{spark}}_2.13" rev="{version}" transitive="false"/>
<dependency org="io.delta" name="delta-storage" rev="{version}" transitive="false"/>"""
ICEBERG = """\
<dependency org="org.apache.iceberg" name="iceberg-spark-runtime-{{spark}}_2.13" rev="{version}"
            transitive="false"/>"""

# Hadoop's client of S3 asks for one jar of all of Amazon's services, 690 MB: these are the modules
# that it uses, without the libraries that Spark itself has.
S3 = """\
<dependency org="org.apache.hadoop" name="hadoop-aws" rev="{{version}}" transitive="false"/>
<dependency org="software.amazon.s3.analyticsaccelerator" name="analyticsaccelerator-s3"
            rev="{accelerator}" transitive="false"/>
""" + "\n".join(
    f"""\
<dependency org="software.amazon.awssdk" name="{module}" rev="{{sdk}}">
  <exclude org="org.slf4j"/>
  <exclude org="io.netty"/>
  <exclude org="commons-codec"/>
  <exclude org="commons-logging"/>
  <exclude org="org.apache.httpcomponents"/>
</dependency>"""
    for module in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
)

SETS = {
    f"{name}-{version}": module.format(version=version)
    for name, module, versions in (
        ("kafka", KAFKA_3, ("3.4.1", "3.6.2", "3.9.2")),
        ("kafka", KAFKA, ("4.0.2", "4.1.2", "4.2.0", "4.3.0", "4.3.1", "4.4.0")),
        ("spark-sql-kafka-0-10_2.13", CONNECTOR, ("4.1.1", "4.2.0")),
        ("spark-avro_2.13", AVRO, ("4.1.1",)),
        ("delta-spark_4.1_2.13", DELTA.replace("{{spark}}", "4.1"), ("4.4.0",)),
        ("delta-spark_4.2_2.13", DELTA.replace("{{spark}}", "4.2"), ("4.4.0",)),
        ("iceberg-spark-runtime-4.1_2.13", ICEBERG.replace("{{spark}}", "4.1"), ("1.12.0",)),
        # by Hadoop's version, with those of Amazon's modules that it names
        ("hadoop-aws", S3.format(sdk="2.29.52", accelerator="1.2.1"), ("3.4.2",)),
        ("hadoop-aws", S3.format(sdk="2.35.4", accelerator="1.3.1"), ("3.5.0",)),
    )
    for version in versions
}
"""Ivy's dependencies of each set."""

SPDX = {
    "Apache-2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "The Apache License, Version 2.0": "Apache-2.0",
    "The Apache Software License, Version 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",  # of paranamer
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD-2-Clause": "BSD-2-Clause",
    "EDL 1.0": "BSD-3-Clause",
    "Eclipse Distribution License - v 1.0": "BSD-3-Clause",
    "Go License": "BSD-3-Clause",
    "MIT": "MIT",
    "MIT License": "MIT",
    "MIT-0": "MIT-0",
    "The MIT License": "MIT",
    "Public Domain, per Creative Commons CC0": "CC0-1.0",
}
"""SPDX's identifiers of the licences as the modules' authors name them."""

MODULE = """\
<ivy-module version="2.0">
  <info organisation="partage" module="jars"/>
  <configurations><conf name="wanted"/></configurations>
  <dependencies defaultconf="wanted->default">{dependencies}</dependencies>
</ivy-module>
"""


def locked(dependencies: str) -> str:
    """The lock file of the jars that Ivy resolves."""
    (ivy,) = (Path(find_spec("pyspark").submodule_search_locations[0]) / "jars").glob("ivy-*.jar")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "ivy.xml").write_text(MODULE.format(dependencies=dependencies), encoding="utf-8")
        java = find_java("Ivy") / "bin" / "java"
        call = [java, "-jar", ivy, "-ivy", work / "ivy.xml", "-cache", work / "cache"]
        pattern = f"{work}/jars/[organisation]/[artifact]/[revision]/[artifact]-[revision].[ext]"
        subprocess.run([*call, "-retrieve", pattern], check=True, stdout=sys.stderr)
        lines = []
        for jar in (work / "jars").rglob("*.jar"):
            group, artifact, version = jar.relative_to(work / "jars").parts[:3]
            described = work / "cache" / group / artifact / f"ivy-{version}.xml"
            digest = hashlib.sha256(jar.read_bytes()).hexdigest()
            lines.append(
                f'"{group}:{artifact}:{version}" = '
                f'{{ sha256 = "{digest}", licence = "{licence(described)}" }}\n'
            )
        return "".join(sorted(lines))


def licence(described: Path) -> str:
    """The licence of a module as an SPDX expression; exits where SPDX lacks one of its names."""
    names = [one.get("name", "") for one in ElementTree.parse(described).iterfind("info/license")]
    unknown = [name for name in names if name not in SPDX]
    if unknown or not names:
        sys.exit(
            f"{described.name} in {described.parent}: licence {unknown or 'missing'}: see SPDX"
        )
    return " OR ".join(SPDX[name] for name in names)


if __name__ == "__main__":
    for name in sys.argv[1:] or SETS:
        (LOCKS / f"{name}.toml").write_text(locked(SETS[name]), encoding="utf-8")
