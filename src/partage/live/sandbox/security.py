"""What a secured sandbox adds: certificates, users with passwords, and client properties.

Each broker has the three listeners that authenticate (``LISTENERS``). Kafka's standard authorizer
denies what no ACL allows, except to the brokers and *admin*, which may do everything. *guest* may
do nothing until an ACL allows it. The nodes authenticate each other by the brokers' certificate.

All is generated when the sandbox is created: a certificate authority, whose key is deleted after
signing, a certificate for the nodes and one for admin, and passwords. The folder ``security`` holds
them, readable by the owner only.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from partage.errors import PartageError
from partage.files import parse_json, read_text
from partage.live.sandbox.nodes import HOST, Node
from partage.live.sandbox.settings import to_properties
from partage.outputs import (
    json_with_checksum,
    lines_with_checksum,
    make_folder,
    remove_file,
    remove_known,
    write_file,
)
from partage.properties import login_module

FOLDER = "security"
LISTENERS = ("SASL_SSL", "SSL", "SASL_PLAINTEXT")
"""Names, which are the protocols as well; the most common first."""

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
ADMIN, GUEST = "admin", "guest"

FILES = {
    "admin.properties": (ADMIN, "SASL_SSL"),
    "admin-ssl.properties": (ADMIN, "SSL"),
    "admin-sasl-plaintext.properties": (ADMIN, "SASL_PLAINTEXT"),
    "guest.properties": (GUEST, "SASL_SSL"),
}
"""Client properties by file name: user and listener."""

_BROKER = "broker"
_AUTHORITY = "ca.pem"
_PASSWORDS = "passwords.json"
_USERS = "users.args"
_DAYS = "3650"
_WRITTEN = re.compile(r"passwords\.json|users\.args|[a-z-]+\.(pem|properties)")

_CERTIFICATES = f"""\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = IP:{HOST}
"""
"""openssl's settings; Python 3.13 requires the key identifiers."""


class Security:
    """The certificates, users and client properties of the sandbox in a folder."""

    def __init__(self, sandbox: Path) -> None:
        self._sandbox = sandbox
        self.folder = sandbox / FOLDER

    def make(self) -> None:
        """Generate certificates and passwords. Raises PartageError if openssl is missing."""
        make_folder(self.folder, root=self._sandbox, private=True)
        passwords = {user: secrets.token_urlsafe(18) for user in (ADMIN, GUEST)}
        self._write(_PASSWORDS, json_with_checksum(passwords))
        with tempfile.TemporaryDirectory() as temporary:
            for name, text in _certificates(Path(temporary)).items():
                self._write(name, lines_with_checksum(text))

    def remove(self) -> list[str]:
        """Remove the folder, and return the paths of other files in it, which stay."""
        return remove_known(self.folder, _WRITTEN)

    def settings(self, node: Node) -> dict[str, object]:
        """A node's settings in addition to those without security."""
        found: dict[str, object] = {
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:SSL", *(f"{name}:{name}" for name in LISTENERS)]
            ),
            **self._pem("truststore", _AUTHORITY),
            **self._pem("keystore", f"{_BROKER}.pem"),
            "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
            "listener.name.controller.ssl.client.auth": "required",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{_BROKER};User:{ADMIN}",
            "allow.everyone.if.no.acl.found": "false",
        }
        if node.id == 0:
            return found
        found |= {
            "inter.broker.listener.name": "SSL",
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        }
        users = " ".join(f'user_{name}="{secret}"' for name, secret in self._passwords.items())
        for listener in LISTENERS:
            for mechanism in MECHANISMS if listener.startswith("SASL") else ():
                key = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
                found[key] = login_module(mechanism, users if mechanism == "PLAIN" else "")
        return found

    @contextmanager
    def format_arguments(self, arguments: Sequence[str]) -> Iterator[str]:
        """The arguments of Kafka's storage tool and the SCRAM users, in a file that Java reads:
        other users of the machine can read command lines."""
        scram = [
            f"{mechanism}=[name={user},password={password}]"
            for mechanism in MECHANISMS
            if mechanism.startswith("SCRAM")
            for user, password in self._passwords.items()
        ]
        quoted = (
            '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for word in (*arguments, *(part for one in scram for part in ("--add-scram", one)))
        )
        self._write(_USERS, lines_with_checksum("\n".join(quoted)))
        try:
            yield f"@{self.folder / _USERS}"
        finally:
            remove_file(self.folder / _USERS, root=self._sandbox)

    def client(self, user: str, listener: str) -> dict[str, object]:
        """The settings of a client. Only admin has a certificate, for the SSL listener."""
        found: dict[str, object] = {"security.protocol": listener}
        if listener.startswith("SASL"):
            login = f'username="{user}" password="{self._passwords[user]}"'
            found["sasl.mechanism"] = MECHANISMS[0]
            found["sasl.jaas.config"] = login_module(MECHANISMS[0], login)
        if listener.endswith("SSL"):
            found |= self._pem("truststore", _AUTHORITY)
        if listener == "SSL":
            found |= self._pem("keystore", f"{user}.pem")
        return found

    def write_clients(self, servers: Mapping[str, str]) -> None:
        """Write the client properties, with the addresses of each listener."""
        for name, (user, listener) in FILES.items():
            settings = {"bootstrap.servers": servers[listener], **self.client(user, listener)}
            self._write(name, lines_with_checksum(to_properties(settings)))

    @property
    def _passwords(self) -> dict[str, str]:
        path = self.folder / _PASSWORDS
        found: dict[str, str] = parse_json(read_text(path), str(path))
        return {user: found[user] for user in (ADMIN, GUEST)}

    def _pem(self, store: str, name: str) -> dict[str, object]:
        return {f"ssl.{store}.type": "PEM", f"ssl.{store}.location": self.folder / name}

    def _write(self, name: str, text: str) -> None:
        write_file(self.folder / name, text, private=True, root=self._sandbox)


def _certificates(folder: Path) -> dict[str, str]:
    """The authority's certificate, and a key with its certificate for the nodes and admin: PEM by
    file name."""
    (folder / "openssl.cnf").write_text(_CERTIFICATES, encoding="ascii")

    def openssl(command: str) -> None:
        try:
            run = subprocess.run(
                ["openssl", *command.split()], cwd=folder, capture_output=True, text=True
            )
        except FileNotFoundError:
            raise PartageError(
                "a secured sandbox needs openssl for its certificates: install it"
            ) from None
        if run.returncode != 0:
            last = run.stderr.strip().splitlines()[-1:]
            raise PartageError(f"openssl {command.split()[0]}: {' '.join(last)}")

    def key(name: str) -> None:
        openssl(f"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {name}.key")

    key("ca")
    openssl(
        f"req -new -x509 -key ca.key -out {_AUTHORITY} -subj /CN=sandbox -days {_DAYS} "
        "-config openssl.cnf -extensions authority"
    )
    found = {_AUTHORITY: (folder / _AUTHORITY).read_text(encoding="ascii")}
    for name in (_BROKER, ADMIN):
        key(name)
        openssl(f"req -new -key {name}.key -out {name}.csr -subj /CN={name} -config openssl.cnf")
        openssl(
            f"x509 -req -in {name}.csr -out {name}.crt -CA {_AUTHORITY} -CAkey ca.key "
            f"-set_serial {secrets.randbits(63)} -days {_DAYS} "
            "-extfile openssl.cnf -extensions leaf"
        )
        parts = ((folder / f"{name}.{end}").read_text(encoding="ascii") for end in ("key", "crt"))
        found[f"{name}.pem"] = "".join(parts)
    return found
