"""Raw text files with categories, dates and missing entries, run without a flag: beside one-hot columns and scikit-learn in the same metric."""

import numpy as np
import pandas

from real.bars import Point
from real.metrics import middle_and_worst, sse
from real.page import Grid, Section, with_worst
from real.tables import from_r

K = 5
STARTS = 20
TABLES = {
    "penguins": from_r("palmerpenguins", "penguins"),
    "credit_data": from_r("modeldata", "credit_data"),
    "storms": from_r("dplyr", "storms"),
    "diamonds": from_r("ggplot2", "diamonds"),
    "ames": from_r("modeldata", "ames"),
    "cars": from_r("MASS", "Cars93"),
    "economics": from_r("ggplot2", "economics"),
    "mpg": from_r("ggplot2", "mpg"),
}
QUICK = ("penguins", "cars", "economics", "mpg")


def encoded(frame, model):
    """The rows in the model's coordinates, divided by its spreads, missing entries filled as it says."""
    readings = model.get("readings") or [{"column": name, "reading": {"name": "number"}} for name in model["columns"]]
    columns = []
    for column in readings:
        values, reading = frame[column["column"]], column["reading"]
        if reading["name"] == "category":
            text = values.astype("string").str.strip()
            known = [(text == level).fillna(False).to_numpy(float) for level in reading["levels"]]
            if reading["other"]:
                known.append((~text.isin(reading["levels"])).to_numpy(float))
            block = np.stack(known, axis=1)
            block[values.isna().to_numpy()] = np.nan
        elif reading["name"] == "time":
            seconds = pandas.to_datetime(values, errors="coerce").astype("datetime64[s]")
            block = seconds.astype("int64").where(seconds.notna()).to_numpy(float)[:, None]
        else:
            block = pandas.to_numeric(values, errors="coerce").to_numpy(float)[:, None]
        columns.append(block)
    rows = np.hstack(columns)
    rows = np.where(np.isnan(rows), model.get("fill") or np.nanmean(rows, axis=0), rows)
    return rows / (model.get("spreads") or rows.std(axis=0))


def of_table(bench, name):
    """RSSE for each seed, and the columns in use; the table as anyone would write it."""
    path = bench.folder / f"{name}.raw.csv"
    if not path.exists():
        TABLES[name]().to_csv(path, index=False)
    # As the program reads it: "none" is a level, and booleans are numbers.
    frame = pandas.read_csv(path, keep_default_na=False, na_values=["", "NA", "NaN", "nan", "null", "n/a", "N/A"])
    from sklearn.cluster import KMeans

    found, used = [], 0
    for seed in bench.seeds:
        record = bench.program.one_liner(f"raw {name}", path, K, seed)
        if "model" not in record:
            found.append(float("nan"))
        else:
            model = record["model"]
            rows, used = encoded(frame, model), len(model.get("readings") or model["columns"])
            peer = KMeans(K, n_init=STARTS, random_state=seed).fit(rows)
            spreads = np.array(model.get("spreads") or np.ones(rows.shape[1]))
            found.append(sse(rows, np.array(model["centers"]) / spreads) / peer.inertia_)
        bench.log(f"raw {name} seed {seed}: {found[-1]:.4f}", record)
    return middle_and_worst(found), used, frame.shape


def run(bench):
    grid, points = Grid("", ["table", "n x columns", "columns used", "RSSE"], []), []
    for name in QUICK if bench.quick else TABLES:
        found, used, shape = of_table(bench, name)
        grid.rows.append([name, f"{shape[0]} x {shape[1]}", used, with_worst(found)])
        points.append(Point("raw", name, found[0]))
    text = (
        f"`kmeans FILE.csv -k {K}` and nothing else, on the files as R packages have them: texts, dates, missing entries, row names. RSSE: against the best of "
        f"{STARTS} starts of scikit-learn's KMeans on the same columns, one-hot, in the metric that the model says."
    )
    return Section("Raw files", text, [grid], points)
