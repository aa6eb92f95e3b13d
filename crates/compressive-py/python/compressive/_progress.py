"""Progress of long passes: a bar if tqdm is installed, or a callable of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_of(
    progress: bool | Callable[[int], object] | None, total: int | None
) -> Iterator[Callable[[int], object] | None]:
    """What the pass calls with the number of rows done."""
    if progress is None or progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=total, unit="row", unit_scale=True) as bar:

        def advance(rows: int) -> None:
            bar.update(rows - bar.n)

        yield advance
