"""The address of an Ollama server, in every form OLLAMA_HOST may have.

It refuses to know whether anything answers there. Source: Ollama's envconfig/config.go, read as a client reads it: an
address that means "every interface" to a server means this machine to us.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit, urlunsplit

from memcli.errors import UsageError

DEFAULT_PORT = 11434
"""Where an Ollama server listens. Source: envconfig/config.go."""
_SCHEME_PORTS = {"http": 80, "https": 443}


def server_url(host: str) -> str:
    """Complete `host`, `host:port`, `:port`, `scheme://host:port/path` or an IP address to a URL with a port.

    Empty means this machine and the default port. Without a scheme the port is 11434; with one it is the scheme's.
    Departs from the source in one place: a port that is no port raises UsageError where Ollama uses the default.
    """
    written = host.strip().strip("\"'").strip()
    scheme, mark, rest = written.partition("://")
    if not mark:
        scheme, rest = "http", written
    if ":" in rest and "[" not in rest and _address(rest) is not None:
        rest = f"[{rest}]"
    split, port = _split(scheme, rest, written)
    name = split.hostname or "127.0.0.1"
    address = _address(name)
    if address is not None and address.is_unspecified:
        name = "127.0.0.1" if address.version == 4 else "::1"
    place = f"[{name}]" if ":" in name else name
    user, at, _ = split.netloc.rpartition("@")
    port = port or (_SCHEME_PORTS[scheme] if mark else DEFAULT_PORT)
    return f"{scheme}://{user}{at}{place}:{port}{split.path.rstrip('/')}"


def is_loopback(url: str) -> bool:
    """Tell whether a URL names this machine, which no proxy may stand before."""
    name = urlsplit(url).hostname or ""
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def without_password(url: str) -> str:
    """Drop the user and password of a URL, for showing it."""
    split = urlsplit(url)
    return urlunsplit(split._replace(netloc=split.netloc.rpartition("@")[2]))


def _split(scheme: str, rest: str, written: str) -> tuple[SplitResult, int | None]:
    if scheme not in _SCHEME_PORTS:
        raise UsageError(f"OLLAMA_HOST = {written!r} is neither http nor https", _FORMS)
    try:
        split = urlsplit(f"{scheme}://{rest}")
        port = split.port
    except ValueError as err:
        raise UsageError(f"OLLAMA_HOST = {written!r} cannot be used: {err}", _FORMS) from err
    if port == 0:
        raise UsageError(f"OLLAMA_HOST = {written!r} names port 0", _FORMS)
    return split, port


_FORMS = "write host, host:port, :port or http://host:port"


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None
