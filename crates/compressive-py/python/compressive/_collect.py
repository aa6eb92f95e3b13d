"""The collector: rows to its streams, sketches from them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, overload
from urllib.parse import urlsplit

from . import _native
from ._api import Progress
from ._data import Data, readings_of, source
from ._native import CompressiveError, PrivateSketch, Sketch, SketchSpec
from ._progress import progress_of

TOKEN = "COMPRESSIVE_TOKEN"
_BUCKET = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2})?")


class Pushed(NamedTuple):
    """What a call of `push` has handed over."""

    rows: int
    """Rows that the collector acknowledged in this call."""
    batches: int
    """Batches of these rows."""
    repeated: int
    """Batches among them that the collector had counted before; they were not counted again."""


def push(
    data: Data,
    to: str,
    stream: str,
    *,
    spec: SketchSpec | None = None,
    make: Literal["hour", "day"] | None = None,
    bucket: str | None = None,
    local_epsilon: float | None = None,
    run: str | None = None,
    again: bool = False,
    batch: int = 1000,
    connections: int = 4,
    spool: str | os.PathLike[str] = "compressive-spool",
    patience: float = 300.0,
    token: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    skip_bad_rows: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> Pushed:
    """Sends the rows of a table to a stream of a collector, each counted once, as the command ``compressive push``.

    What leaves this machine are sums of features, for the feature `one-bit` the bits of each row, and never the rows.
    Batches are written to the spool before they are sent and are sent again, under the same key, until the collector
    has acknowledged them. A script that was killed or interrupted is started again as it was: the call for the same
    rows goes on where it stopped.

    Parameters
    ----------
    data : table
        As in `design`. The rows must come in the same order whenever they are pushed.
    to : str
        The collector's URL.
    stream : str
        The stream's name.
    spec : SketchSpec, optional
        The stream's recipe; by default the collector is asked for it.
    make : {"hour", "day"}, optional
        Make the stream if it is not there, with `spec` and with buckets of an hour or a day; this needs the role admin.
    bucket : str, optional
        The bucket of the rows, such as "2026-11-16T17" or "2026-11-16"; by default that of the moment each batch
        arrives.
    local_epsilon : float, optional
        Local privacy: each row tells a few of its bits, at random, such that this epsilon holds for it against the
        collector too. For the feature `one-bit`.
    run : str, optional
        A name for these rows, by which a later call knows them. By default files are known by their paths, and rows
        that are added at their end are sent by the next call; rows in memory are known by a digest of their values.
        Streams that can be read once need a name. A name stands for the rows, in their order: use another one for
        other rows.
    again : bool
        Count rows that were pushed before once more.
    batch : int
        Rows of a batch.
    connections : int
        Batches under way at once.
    spool : path
        Folder for batches that are not acknowledged yet, and for what tells that rows were pushed before.
    patience : float
        Seconds for which a batch is tried.
    token : str, optional
        The token; by default the environment variable COMPRESSIVE_TOKEN.
    certificate : path, optional
        Trust the certificates of this PEM file.
    skip_bad_rows : bool
        Leave out rows with missing values instead of failing at the first.
    threads : int
        0 for all cores.
    progress : bool or callable, optional
        True shows a bar if `tqdm` is installed; a callable gets the number of rows read.

    Returns
    -------
    Pushed
        `rows`, `batches`, and how many of the batches were `repeated`.

    Raises
    ------
    CompressiveError
        If the collector refuses or cannot be reached in time (nothing is lost then), if a row is bad, or if all of
        these rows were acknowledged before.
    """
    for name, number in (("batch", batch), ("connections", connections)):
        if number < 1:
            raise ValueError(f"{name}={number}: at least 1")
    collector = _collector(to, token, certificate)
    spec = _spec_of(collector, to, stream, spec, make)
    rows = source(data, spec.columns, skip_bad_rows=skip_bad_rows, readings=readings_of(spec))
    sending: _native.Sending = {
        "bucket": _bucket("bucket", bucket),
        "batch": batch,
        "connections": connections,
        "patience": patience,
        "local_epsilon": local_epsilon,
        "spool": os.fspath(spool),
        "again": again,
        "threads": threads,
    }
    with progress_of(progress, rows.n_rows) as tell:
        done = collector.push(rows, stream, spec, run, sending, tell)
    if done is None:
        raise CompressiveError(
            f"these rows were pushed to `{stream}` before, and all of them were acknowledged; "
            "again=True counts them once more"
        )
    return Pushed(*done)


@overload
def pull(
    url: str,
    streams: str | Sequence[str],
    first: str | None = ...,
    last: str | None = ...,
    *,
    private: Literal[False] = ...,
    token: str | None = ...,
    certificate: str | os.PathLike[str] | None = ...,
) -> Sketch: ...
@overload
def pull(
    url: str,
    streams: str | Sequence[str],
    first: str | None = ...,
    last: str | None = ...,
    *,
    private: Literal[True],
    token: str | None = ...,
    certificate: str | os.PathLike[str] | None = ...,
) -> PrivateSketch: ...
def pull(
    url: str,
    streams: str | Sequence[str],
    first: str | None = None,
    last: str | None = None,
    *,
    private: bool = False,
    token: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
) -> Sketch | PrivateSketch:
    """Asks a collector for the sketch of all rows of some streams and buckets.

    Parameters
    ----------
    url : str
        The collector's URL.
    streams : str or sequence of str
        Streams of one recipe.
    first, last : str, optional
        The buckets, both included, such as "2026-11-16"; by default all.
    private : bool
        Ask for the sum of the private sketches, local privacy included, instead of the exact sums. Their noise adds
        up, and if no person is in two of them, the promise stays that of each.
    token : str, optional
        The token; by default the environment variable COMPRESSIVE_TOKEN.
    certificate : path, optional
        Trust the certificates of this PEM file.

    Returns
    -------
    Sketch, or with `private` a PrivateSketch
    """
    names = [streams] if isinstance(streams, str) else list(streams)
    if not names:
        raise ValueError("streams: at least one name")
    collector = _collector(url, token, certificate)
    ends = _bucket("first", first), _bucket("last", last)
    return collector.private(names, *ends) if private else collector.sketch(names, *ends)


def _spec_of(
    collector: _native.Collector, to: str, stream: str, spec: SketchSpec | None, make: Literal["hour", "day"] | None
) -> SketchSpec:
    """The recipe of a stream, which is made if that is wanted."""
    if make not in (None, "hour", "day"):
        raise ValueError(f'make={make!r}: "hour" or "day"')
    if spec is not None:
        if make is not None:
            collector.make_stream(stream, spec, make)
        return spec
    found = collector.spec(stream)
    if found is None:
        remedy = 'make it with spec= and make="day", as an admin; compressive.design chooses a recipe'
        raise CompressiveError(f"there is no stream `{stream}` at {to}; {remedy}")
    return found


def _collector(url: str, token: str | None, certificate: str | os.PathLike[str] | None) -> _native.Collector:
    """A collector by its URL, with a token from the argument or the environment. No message shows the token."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the URL of a collector begins with http:// or https:// and has a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("the URL of a collector has no user, password, ? or #; give the token with token=")
    text = (os.environ.get(TOKEN, "") if token is None else token).strip()
    if not all("!" <= character <= "~" for character in text):
        raise ValueError("the token has characters that no token has; give the text that `compressive token` printed")
    path = None if certificate is None else os.fspath(certificate)
    return _native.Collector(url.rstrip("/"), text or None, path)


def _bucket(what: str, text: str | None) -> str | None:
    """A bucket's name, as the collector writes it."""
    if text is None or _BUCKET.fullmatch(text):
        return text
    raise ValueError(
        f'{what}={text!r} is not a bucket; write "2026-11-16T17" for an hour, "2026-11-16" for a day (UTC)'
    )
