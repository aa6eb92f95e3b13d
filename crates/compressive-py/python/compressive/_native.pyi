"""The compiled part: plain functions and classes that the package builds on."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

__version__: str
PILOT_ROWS: int
LOOK_SHARE: float
PERIODS: dict[str, float]
TASKS: list[str]
FEATURES: list[str]
WAVES: dict[str, tuple[float, int, float]]
"""Gain of the first harmonic, number of blocks and mean square of each periodic feature that has a name alone."""

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class CompressiveError(ValueError):
    """What the rows, the spec or the sketch do not allow; the text says where, and what to do."""

class SketchSpec:
    """The recipe of a sketch: columns, scaling, frequency law, feature and seed."""

    def __new__(
        cls,
        columns: Sequence[str],
        size: int,
        scale: float = 1.0,
        *,
        law: str = "adapted-radius",
        feature: str = "fourier",
        seed: int = 0,
        dither: bool | None = None,
        centre: Sequence[float] | None = None,
        spread: Sequence[float] | None = None,
        bounds: tuple[Sequence[float], Sequence[float]] | None = None,
    ) -> SketchSpec: ...
    @classmethod
    def from_json(cls, text: str) -> SketchSpec: ...
    def to_json(self) -> str: ...
    @property
    def readings(self) -> list[dict[str, Any]]: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def dim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def sketch_len(self) -> int: ...
    @property
    def scale(self) -> float: ...
    @property
    def law(self) -> str: ...
    @property
    def feature(self) -> str: ...
    @property
    def moments(self) -> str | None: ...
    @property
    def outline(self) -> dict[str, int] | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def bounds(self) -> tuple[list[float], list[float]] | None: ...
    @property
    def transform(self) -> tuple[list[float], list[float]]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def reasons(self) -> list[str]: ...
    def radii(self) -> npt.NDArray[np.float64]: ...
    def with_columns(self, columns: Sequence[str]) -> SketchSpec: ...
    def features(self, source: Source, threads: int = 0) -> npt.NDArray[np.float32]: ...
    def packed(self, source: Source, blocks: int = 1, threads: int = 0) -> npt.NDArray[np.uint8]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Sketch:
    """Exact sums of the features of some rows, under one recipe."""

    def __new__(cls, spec: SketchSpec) -> Sketch: ...
    def add_source(
        self, source: Source, threads: int = 0, progress: Callable[[int], object] | None = None
    ) -> tuple[int, int]: ...
    def update(
        self,
        data: Any,
        *,
        weights: npt.ArrayLike | str | None = None,
        skip_bad_rows: bool = False,
        threads: int = 0,
        progress: Callable[[int], object] | None = None,
    ) -> Sketch: ...
    def merge(self, other: Sketch) -> None: ...
    def subtract(self, other: Sketch) -> None: ...
    def __add__(self, other: Sketch) -> Sketch: ...
    def __sub__(self, other: Sketch) -> Sketch: ...
    def __radd__(self, other: int) -> Sketch: ...
    def sample(self, n: int, *, seed: int = 0) -> npt.NDArray[np.float64]: ...
    def log_density(self, data: Any, *, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def copy(self) -> Sketch: ...
    @property
    def spec(self) -> SketchSpec: ...
    @property
    def rows(self) -> int: ...
    @property
    def weight(self) -> float: ...
    @property
    def sums(self) -> npt.NDArray[np.int64]: ...
    @property
    def mean(self) -> npt.NDArray[np.float64]: ...
    @property
    def modulus(self) -> npt.NDArray[np.float64]: ...
    @property
    def fingerprint(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    def to_safetensors(self) -> bytes: ...
    @classmethod
    def load(cls, path: str | PathLike[str]) -> Sketch: ...
    @classmethod
    def from_bytes(cls, data: bytes) -> Sketch: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def __eq__(self, other: object) -> bool: ...

class PrivateSketch:
    """A sketch with noise, which may be published."""

    def __add__(self, other: PrivateSketch) -> PrivateSketch: ...
    @property
    def spec(self) -> SketchSpec: ...
    @property
    def rows(self) -> int: ...
    @property
    def rows_std(self) -> float: ...
    @property
    def mean(self) -> npt.NDArray[np.float64]: ...
    @property
    def noise_std(self) -> float: ...
    @property
    def releases_json(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: bytes) -> PrivateSketch: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def __eq__(self, other: object) -> bool: ...

class Source:
    """A table from which rows are read."""

    @classmethod
    def from_array(
        cls,
        values: npt.NDArray[Any],
        columns: Sequence[str],
        weights: npt.NDArray[np.float64] | None = None,
        groups: npt.NDArray[np.uint32] | None = None,
        group_names: Sequence[str] | None = None,
    ) -> Source: ...
    @classmethod
    def from_arrow(
        cls,
        stream: ArrowStream,
        name: str,
        in_memory: bool,
        reading: dict[str, Any],
    ) -> Source: ...
    @classmethod
    def from_paths(cls, paths: Sequence[str], reading: dict[str, Any]) -> Source: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def left_out(self) -> list[tuple[str, str]]: ...
    @property
    def n_rows(self) -> int | None: ...
    def pilot(self, n_max: int, seed: int) -> tuple[npt.NDArray[np.float64], list[str] | None]: ...
    def design(
        self,
        wanted: Wanted,
        pilot: int | None = None,
        private: float | None = None,
        again: bool = False,
        threads: int = 0,
        ledger: str | PathLike[str] | None = None,
    ) -> SketchSpec: ...
    def sketch(
        self,
        spec: SketchSpec,
        threads: int = 0,
        max_groups: int = 1000,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[dict[str, Sketch], int, int]: ...

class Model:
    """What was learned, in the units of the data."""

    @classmethod
    def from_json(cls, text: str) -> Model: ...
    def to_json(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @property
    def task(self) -> str: ...
    @property
    def k(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def misfit(self) -> float | None: ...
    @property
    def explained(self) -> str | None: ...
    @property
    def candidates(self) -> list[dict[str, Any]]: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    def predict(self, data: Any, threads: int = 0) -> npt.NDArray[Any]: ...
    def predict_proba(self, data: Any, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def transform(self, data: Any, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def labels(self, source: Source, threads: int = 0) -> npt.NDArray[np.int32]: ...
    def squared_distances(self, source: Source, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def log_densities(self, source: Source, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def responsibilities(self, source: Source, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def class_scores(self, source: Source, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def project(self, source: Source, threads: int = 0) -> npt.NDArray[np.float64]: ...
    def __eq__(self, other: object) -> bool: ...

class Collector:
    """A collector. Nothing of it shows the token."""

    def __new__(cls, url: str, token: str | None = None, certificate: str | None = None) -> Collector: ...
    def spec(self, stream: str) -> SketchSpec | None: ...
    def make_stream(self, stream: str, spec: SketchSpec, every: str) -> bool: ...
    def push(
        self,
        source: Source,
        stream: str,
        spec: SketchSpec,
        run: str | None,
        sending: Sending,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[int, int, int] | None: ...
    def sketch(self, streams: Sequence[str], first: str | None = None, last: str | None = None) -> Sketch: ...
    def private(self, streams: Sequence[str], first: str | None = None, last: str | None = None) -> PrivateSketch: ...

class Sending(TypedDict):
    bucket: str | None
    batch: int
    connections: int
    patience: float
    local_epsilon: float | None
    spool: str
    again: bool
    threads: int

class Wanted(TypedDict):
    task: str
    k: int | None
    size: int | None
    law: str | None
    scale: str | None
    feature: str | None
    table: Sequence[float] | None
    image: tuple[int, int, int] | None
    complex: bool
    dither: bool | None
    whiten: bool
    scaling: str | None
    structured: bool | None
    moments: bool | None
    outline: bool | None
    missing: str | None
    category_weight: float
    bounds: tuple[Sequence[float], Sequence[float]] | None
    seed: int

class DefaultsRow(TypedDict):
    task: str
    feature: str
    k: int
    law: str
    dither: bool
    pilot_rows: int

class Search(TypedDict):
    decoder: str
    restarts: int | None
    seed: int
    threads: int
    max_seconds: float | None

class Comparison(TypedDict):
    distance: float
    distance_expected: float
    mmd_squared: float
    standard_error: float
    p_value: float
    rows: tuple[int, int]

class Share(TypedDict):
    value: float
    low: float
    high: float
    bound: bool

class Change(TypedDict):
    statistic: str
    columns: list[str]
    before: float
    after: float
    standard_error: float
    score: float

class Place(TypedDict):
    share: float
    location: dict[str, float]
    columns: list[str]

class Reason(TypedDict, total=False):
    kind: str
    explains: float
    statistic: str
    columns: list[str]
    before: float
    after: float
    standard_error: float
    score: float
    share: float
    location: dict[str, float]

class Found(Comparison):
    verdict: str
    share: Share
    reasons: list[Reason]
    changes: list[Change]
    gained: list[Place]
    lost: list[Place]

def design(rows: npt.NDArray[np.float64], columns: Sequence[str], wanted: Wanted) -> SketchSpec: ...
def defaults() -> list[DefaultsRow]: ...
def default_size(parameters: int) -> int: ...
def compare(a: Sketch, b: Sketch) -> Comparison: ...
def drift(a: Sketch, b: Sketch, tolerate: float) -> Found: ...
def read(data: bytes) -> Sketch | PrivateSketch: ...
def privatize(
    sketch: Sketch,
    epsilon: float,
    delta: float,
    neighbours: str,
    split: float | None,
    rows_per_person: int,
    public_spec: bool,
    ledger: str | PathLike[str] | None = None,
) -> PrivateSketch: ...
def ledger(
    path: str | PathLike[str],
    cap_epsilon: float | None = None,
    cap_delta: float = 0.0,
    dataset: str | None = None,
) -> str: ...
def learn(
    sketch: Sketch | PrivateSketch,
    task_name: str,
    k: tuple[int, int] | None,
    covariance_kind: str,
    known: Sequence[Sequence[float]] | None,
    search: Search,
) -> Model: ...
def classify(
    sketches: dict[str, Sketch] | dict[str, PrivateSketch],
    method_name: str | None,
    uniform: bool,
    k: tuple[int, int] | None,
    search: Search,
) -> Model: ...
def choose_method(
    spec: SketchSpec,
    rows: npt.NDArray[np.float64],
    labels: Sequence[str],
    uniform: bool,
    search: Search,
) -> tuple[str, list[tuple[str, float]]] | None: ...
