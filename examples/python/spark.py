"""One sketch per day from a cluster, then every question without it.

A taxi company's trips lie on a Spark cluster, a table too large for one machine. The nightly job makes one sketch of a
few kilobytes per day. The sketches answer later, on a laptop: what does the week look like, which day was unlike the
others?

Run it with ``python spark.py``: it starts Spark on this machine. With ``SPARK_REMOTE=sc://host`` it uses a Spark
Connect server instead, without a change.
"""

import compressive
import compressive.spark
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

DAYS = ["mon", "tue", "wed", "thu", "fri"]
N_ROWS = 50_000


def trips():
    """Starting points of trips around three places; on Friday the third is closed, and its trips start elsewhere."""
    rng = np.random.default_rng(7)
    places = np.array([[2.0, 1.0], [7.0, 8.0], [8.0, 2.0]])
    place = rng.choice(3, N_ROWS, p=[0.5, 0.3, 0.2])
    day = rng.integers(0, len(DAYS), N_ROWS)
    points = places[place] + rng.normal(0, 0.4, (N_ROWS, 2))
    points[(day == 4) & (place == 2)] += [-6.0, 4.0]
    return pa.table({"x": points[:, 0], "y": points[:, 1], "day": np.array(DAYS)[day]})


def main():
    builder = SparkSession.builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    kind = "Spark Connect" if "connect" in type(spark).__module__ else "Spark"
    table = trips()
    frame = spark.createDataFrame(table).repartition(4)

    # The recipe comes from a sample. Whoever has it makes sketches that add up.
    spec = compressive.spark.design(frame, ["x", "y"], k=6, seed=1)
    by_day = compressive.spark.sketch(frame, spec=spec, by="day")
    week = sum(by_day.values())
    size = len(week.to_bytes())
    print(f"{kind}: {frame.count():,} trips became {len(by_day)} sketches of {size:,} bytes")

    # Nothing below reads the table again.
    model = compressive.fit_kmeans(week, 3)
    for weight, (x, y) in zip(model.parameters["weights"], model.parameters["centers"], strict=True):
        print(f"  {weight:4.0%} of the week's trips start around ({x:.1f}, {y:.1f})")

    # Sketches subtract: each day is compared with all others, then with all others but the odd one.
    distance = {day: compressive.compare(s, week - s)["distance"] for day, s in by_day.items()}
    odd = max(distance, key=lambda day: distance[day])
    print(f"  {odd} is the farthest from the other days")
    usual = week - by_day.pop(odd)
    alike = sum(compressive.compare(s, usual - s)["p_value"] > 0.001 for s in by_day.values())
    print(f"  without it, {alike} of the {len(by_day)} days are like the others")

    # The cluster gave what one machine gives, to the last bit.
    assert week.to_bytes() == compressive.sketch(table, spec).to_bytes()
    print("the whole table sketched on one machine has the same bytes")
    spark.stop()


if __name__ == "__main__":
    main()
