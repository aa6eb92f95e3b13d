"""Spark with two real executors gives the bytes of a single machine, also when tasks fail or lose their executor."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import compressive
import compressive.spark
import numpy as np
import pyarrow as pa
import pytest
from testing import ROOT, as_bytes, eventually

pytest.importorskip("pyspark")

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none")

COLUMNS = ["a", "b", "c"]
N_ROWS, N_PARTS = 12_000, 4
ENVIRONMENT = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ.update(ENVIRONMENT)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "2",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(size=(N_ROWS, 3)) * 256) / 256
    number = np.arange(N_ROWS)
    extra = {"group": number % 3, "w": (number % 4).astype(float)}
    return pa.table(dict(zip(COLUMNS, values.T, strict=True)) | extra)


@pytest.fixture(scope="module")
def spec(table):
    return compressive.design(table, k=3, columns=COLUMNS)


@pytest.fixture(scope="module")
def frame(spark, table):
    return spark.createDataFrame(table).repartition(N_PARTS)


def test_two_executors_give_the_bytes_of_one_machine(spark, frame, table, spec):
    expected = compressive.sketch(table, spec).to_bytes()
    assert compressive.spark.sketch(frame, COLUMNS, spec).to_bytes() == expected
    # One partition, and far more partitions than cores.
    assert compressive.spark.sketch(frame.coalesce(1), spec=spec).to_bytes() == expected
    # Two tasks merge what nine partitions gave, and the driver what they give.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    assert compressive.spark.sketch(frame.repartition(9, "a"), spec=spec).to_bytes() == expected
    spark.conf.unset("spark.sql.adaptive.enabled")


def test_groups_and_weights_give_the_bytes_of_one_machine(frame, table, spec):
    groups = compressive.spark.sketch(frame, COLUMNS, spec, by="group")
    assert list(groups) == ["0", "1", "2"]
    assert as_bytes(groups) == as_bytes(compressive.sketch(table, spec, by="group"))
    weighted = compressive.spark.sketch(frame, spec=spec, weights="w")
    assert weighted.to_bytes() == compressive.sketch(table, spec, weights="w").to_bytes()
    both = compressive.spark.sketch(frame, spec=spec, by="group", weights="w")
    assert as_bytes(both) == as_bytes(compressive.sketch(table, spec, by="group", weights="w"))


def test_without_a_spec_a_sample_of_the_rows_chooses_one_and_all_rows_count(frame, table):
    made = compressive.spark.sketch(frame, weights="w", by="group", k=4, size=30)
    assert sum(sketch.weight for sketch in made.values()) == pytest.approx(sum(table["w"].to_pylist()))
    spec = made["0"].spec
    assert (spec.columns, spec.size) == (COLUMNS, 30)
    assert as_bytes(made) == as_bytes(compressive.sketch(table, spec, by="group", weights="w"))
    sampled = compressive.spark.design(frame, COLUMNS, k=4, pilot=500)
    assert sampled.columns == COLUMNS
    centre = np.asarray(sampled.transform[0])
    assert np.abs(centre).max() < 0.3, "the centre of 500 of the rows, whose mean is 0 and deviation 1"


def marked(folder, behave):
    """A step that passes rows on, notes who ran it, and then does `behave(partition, attempt)`."""

    def step(batches):
        import os
        import pathlib
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        part, task = context.partitionId(), context.taskAttemptId()
        ancestor = os.getpid()
        while b"CoarseGrainedExecutorBackend" not in pathlib.Path(f"/proc/{ancestor}/cmdline").read_bytes():
            status = pathlib.Path(f"/proc/{ancestor}/status").read_text()
            ancestor = int(status.split("PPid:")[1].split()[0])
        name = f"{part}-{task}-{ancestor}"
        pathlib.Path(folder, f"started-{name}").write_text(str(time.time()))
        yield from batches
        behave(part, context.attemptNumber())
        pathlib.Path(folder, f"finished-{name}").write_text(str(time.time()))

    return step


def marks(folder, what):
    """Partition, executor's process and time of each mark."""
    found = []
    for path in pathlib.Path(folder).glob(f"{what}-*"):
        part, _, executor = map(int, path.name.split("-")[1:])
        text = path.read_text()
        if text:
            found.append((part, executor, float(text)))
    return found


def test_a_task_that_fails_after_its_last_row_counts_its_rows_once(frame, table, spec, tmp_path):
    def fail_once(part, attempt):
        if part == 2 and attempt == 0:
            raise RuntimeError("the first attempt fails")

    slow = frame.mapInArrow(marked(str(tmp_path), fail_once), frame.schema)
    assert compressive.spark.sketch(slow, spec=spec).to_bytes() == compressive.sketch(table, spec).to_bytes()
    assert [part for part, _, _ in marks(tmp_path, "started")].count(2) >= 2


def inactive_executors(spark):
    store = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    executors = [store.apply(i) for i in range(store.size())]
    return [executor.removeReason().toString() for executor in executors if not executor.isActive()]


def test_an_executor_killed_amid_the_job_changes_no_byte(spark, frame, table, spec, tmp_path):
    slow = frame.mapInArrow(marked(str(tmp_path), lambda part, attempt: time.sleep(1)), frame.schema)
    assert inactive_executors(spark) == []
    made = []
    job = threading.Thread(target=lambda: made.append(compressive.spark.sketch(slow, spec=spec)))
    job.start()

    def busy_executor():
        """One that holds the sketch of a finished partition and is amid the next."""
        finished = marks(tmp_path, "finished")
        running = {mark[:2] for mark in marks(tmp_path, "started")} - {mark[:2] for mark in finished}
        return next((executor for _, executor, _ in finished if executor in {e for _, e in running}), None)

    victim = eventually(busy_executor, 120)
    command = pathlib.Path(f"/proc/{victim}/cmdline").read_bytes()
    assert b"CoarseGrainedExecutorBackend" in command
    lost = {part for part, executor, _ in marks(tmp_path, "started") if executor == victim}
    assert job.is_alive()
    killed_at = time.time()
    os.kill(victim, signal.SIGKILL)

    job.join(timeout=120)
    assert not job.is_alive()
    assert made[0].rows == N_ROWS
    assert made[0].to_bytes() == compressive.sketch(table, spec).to_bytes()
    assert len(inactive_executors(spark)) == 1, "Spark itself has noticed the loss"
    again = {part for part, executor, at in marks(tmp_path, "started") if executor != victim and at > killed_at}
    assert lost <= again, "what the lost executor had done and was doing has been done again"


def test_bad_rows_and_wrong_columns_are_told_clearly(spark, frame, table, spec):
    bad = frame.selectExpr("a", "b", "CASE WHEN group = 1 THEN NULL ELSE c END AS c", "group")
    with pytest.raises(compressive.CompressiveError, match=r'partition \d+: .*column "c": null'):
        compressive.spark.sketch(bad, spec=spec)
    kept = compressive.spark.sketch(bad, spec=spec, skip_bad_rows=True)
    good = table.filter(pa.compute.not_equal(table["group"], 1))
    assert kept.to_bytes() == compressive.sketch(good, spec).to_bytes()
    # Partitions of bad rows only have no sketch; the others have.
    alone = compressive.spark.sketch(bad.repartition(8, "group"), spec=spec, skip_bad_rows=True)
    assert alone.to_bytes() == kept.to_bytes()
    with pytest.raises(compressive.CompressiveError, match="more than 2 "):
        compressive.spark.sketch(frame, spec=spec, by="group", max_groups=2)
    with pytest.raises(ValueError, match="no column 'region'; it has a, b, c"):
        compressive.spark.sketch(frame, spec=spec, by="region")
    with pytest.raises(ValueError, match="not those of the spec"):
        compressive.spark.sketch(frame, ["b", "a", "c"], spec)
    with pytest.raises(TypeError, match="k: the recipe is given by spec"):
        compressive.spark.sketch(frame, spec=spec, k=3)
    with pytest.raises(TypeError, match="must be a Spark frame"):
        compressive.spark.sketch(table, spec=spec)
    with pytest.raises(compressive.CompressiveError, match="no row to sketch"):
        compressive.spark.sketch(frame.where("a > 1e9"), spec=spec)


def test_executors_without_the_package_are_told_what_they_lack():
    from pyspark.errors import PySparkException

    class Frame:
        def collect(self):
            raise PySparkException("Traceback ...\nModuleNotFoundError: No module named 'compressive'\n")

    with pytest.raises(ImportError, match=r"the executors cannot import compressive: install 'compressive\[spark\]'"):
        compressive.spark._collected(Frame())


def test_names_with_dots_and_spaces_are_columns(spark, table, spec):
    odd = dict(zip(COLUMNS, ["trip.km", "c d", "e"], strict=True))
    renamed = table.rename_columns([odd.get(name, name) for name in table.column_names])
    other = spec.with_columns(list(odd.values()))
    made = compressive.spark.sketch(spark.createDataFrame(renamed), spec=other)
    assert made.to_bytes() == compressive.sketch(renamed, other).to_bytes()


def test_the_example_runs_with_spark_connect():
    """The example checks the bytes itself; here its session is that of a Connect server."""
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    environment = {**os.environ, **ENVIRONMENT, "SPARK_REMOTE": "local[2]"}
    for name in ("SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        environment.pop(name, None)
    script = ROOT / "examples" / "python" / "spark.py"
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Spark Connect" in done.stdout
    assert "fri is the farthest from the other days" in done.stdout
    assert "without it, 4 of the 4 days are like the others" in done.stdout
    assert "the same bytes" in done.stdout


def test_functions_of_sketches_are_columns_of_frames(spark, table, spec):
    functions = compressive.spark.register(spark, spec)
    df = spark.createDataFrame(table.to_pandas())
    days = df.groupBy("group", "w").agg(functions["sketch"](*COLUMNS).alias("s"))
    cube = compressive.cube(table, ["group", "w"], spec)
    found = {(str(row["group"]), str(int(row["w"]))): bytes(row["s"]) for row in days.collect()}
    assert found == {name: sketch.to_bytes() for name, sketch in cube.items()}
    days.createOrReplaceTempView("days")
    answers = spark.sql(
        "SELECT `group`, sketch_rows(s) AS n, sketch_mean(s, 'a') AS mean FROM "
        "(SELECT `group`, sketch_merge(s) AS s FROM days GROUP BY `group`)"
    )
    groups = cube.rollup("group")
    for row in answers.collect():
        assert row["n"] == groups[row["group"]].rows
        assert row["mean"] == compressive.query(groups[row["group"]], "mean(a)")["value"]
