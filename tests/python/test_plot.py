"""Plots draw the numbers they promise: points, centres, ellipses, moduli and distances."""

import json

import matplotlib as mpl

mpl.use("Agg")

import compressive
import numpy as np
import pytest
from compressive import plot
from compressive._shape import characteristic, shape_of
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse

CENTRES = np.array([[0.0, 0.0, 1.0], [6.0, 1.0, -2.0], [2.0, 7.0, 0.0]])
COVARIANCES = np.array(
    [
        [[1.0, 0.6, 0.0], [0.6, 1.0, 0.2], [0.0, 0.2, 0.5]],
        [[0.3, 0.0, 0.1], [0.0, 2.0, 0.0], [0.1, 0.0, 1.0]],
        [[1.5, -1.0, 0.0], [-1.0, 1.2, 0.0], [0.0, 0.0, 1.0]],
    ]
)
NAMES = ["distance", "fare", "tip"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    labels = rng.choice(3, 20_000, p=[0.5, 0.3, 0.2])
    roots = np.linalg.cholesky(COVARIANCES)
    return CENTRES[labels] + np.einsum("nij,nj->ni", roots[labels], rng.normal(size=(20_000, 3))), labels


@pytest.fixture(scope="module")
def sketch(table):
    return compressive.sketch(table[0], columns=NAMES, k=3, task="gmm", size=300)


def mixture(covariances):
    """A mixture with known parameters, written as a model file."""
    fields = {
        "format": 1,
        "task": "gmm",
        "weights": [0.5, 0.3, 0.2],
        "means": CENTRES.tolist(),
        "covariances": np.asarray(covariances).tolist(),
        "k": 3,
        "columns": NAMES,
    }
    template = json.loads(compressive.fit_gmm(small_sketch(), 1, "full").to_json())
    return compressive.Model.from_json(json.dumps({**template, **fields}))


def small_sketch():
    rows = np.random.default_rng(0).normal(size=(500, 3))
    return compressive.sketch(rows, columns=NAMES, k=2, task="gmm")


def test_every_row_of_a_small_sample_is_drawn_in_the_colour_of_its_cluster(table, sketch):
    model = compressive.fit_kmeans(sketch, 3)
    rows = table[0][:400]
    ax = plot.clusters(model, rows)
    predicted = model.predict(rows)
    *groups, centres = ax.collections
    for cluster, group in enumerate(groups):
        np.testing.assert_allclose(group.get_offsets(), rows[predicted == cluster][:, :2])
        assert to_hex(group.get_facecolor()[0]) == plot.COLOURS[cluster].lower()
    np.testing.assert_allclose(centres.get_offsets(), model.parameters["centers"][:, :2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("distance", "fare")


def test_large_samples_are_thinned_and_labels_stay_with_their_rows(table, sketch):
    rows, labels = table
    ax = plot.clusters(compressive.fit_kmeans(sketch, 3), rows, columns=("tip", "distance"), labels=labels, rows=1000)
    groups = ax.collections[:-1]
    drawn = np.vstack([group.get_offsets() for group in groups])
    assert drawn.shape == (1000, 2)
    for label, group in enumerate(groups):
        of_label = {tuple(row) for row in rows[labels == label][:, [2, 0]]}
        assert all(tuple(point) in of_label for point in np.asarray(group.get_offsets()))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    assert ax.get_xlabel() == "tip"


def test_a_frame_with_more_columns_is_drawn_by_the_columns_of_the_model(table, sketch):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"tip": table[0][:50, 2], "id": np.arange(50), "fare": table[0][:50, 1], "distance": table[0][:50, 0]}
    )
    ax = plot.clusters(compressive.fit_kmeans(sketch, 3), frame, columns=("distance", "tip"))
    drawn = np.vstack([group.get_offsets() for group in ax.collections[:-1]])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, table[0][:50][:, [0, 2]]))


def test_scikit_learns_own_estimators_are_drawn_too(table):
    cluster = pytest.importorskip("sklearn.cluster")
    model = cluster.KMeans(3, n_init=1, random_state=0).fit(table[0])
    ax = plot.clusters(model, table[0][:100])
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), model.cluster_centers_[:, :2])


def test_the_packages_estimators_are_drawn_like_their_models(table):
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table[0], columns=NAMES)
    kmeans = compressive.KMeans(3, random_state=0).fit(frame)
    ax = plot.clusters(kmeans, frame[:300], columns=("tip", "fare"))
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), kmeans.cluster_centers_[:, [2, 1]])
    drawn = np.vstack([group.get_offsets() for group in ax.collections[:-1]])
    assert len(drawn) == 300
    np.testing.assert_allclose(shape_of(kmeans).weights, kmeans.model_.parameters["weights"])
    mixture = compressive.GaussianMixture(3, covariance_type="spherical", random_state=0).fit(frame)
    for patch, variance in zip(plot.ellipses(mixture, deviations=[2.0]).patches, mixture.covariances_, strict=True):
        np.testing.assert_allclose([patch.width, patch.height], 4 * np.sqrt(variance))


@pytest.mark.parametrize("pair", [(0, 1), (2, 0)])
def test_full_ellipses_have_the_axes_of_the_covariance_of_the_two_columns(pair):
    ax = plot.ellipses(mixture(COVARIANCES), columns=pair)
    patches = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(patches) == 6
    for i, patch in enumerate(patches):
        component, deviation = divmod(i, 2)
        # The ellipse that has been drawn, as the matrix whose quadratic form is 1 on it.
        angle = np.radians(patch.angle)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        half = np.diag([patch.width / 2, patch.height / 2])
        wanted = COVARIANCES[component][np.ix_(pair, pair)] * (deviation + 1) ** 2
        np.testing.assert_allclose(turn @ half @ half @ turn.T, wanted, atol=1e-12)
        np.testing.assert_allclose(patch.center, CENTRES[component][list(pair)])


def test_ellipses_of_scikit_learns_four_kinds_of_covariance_agree_with_their_matrices(table):
    mixtures = pytest.importorskip("sklearn.mixture")
    for kind in ["full", "tied", "diag", "spherical"]:
        model = mixtures.GaussianMixture(3, covariance_type=kind, random_state=0, max_iter=5, tol=1).fit(
            table[0][:2000]
        )
        first = {
            "full": lambda c: c[0],
            "tied": lambda c: c,
            "diag": lambda c: np.diag(c[0]),
            "spherical": lambda c: c[0] * np.eye(3),
        }[kind](model.covariances_)
        patch = plot.ellipses(model, deviations=[1.0]).patches[0]
        axes = np.sqrt(np.linalg.eigvalsh(first[:2, :2]))[::-1]
        np.testing.assert_allclose([patch.width / 2, patch.height / 2], axes)


def test_ellipses_join_the_points_of_the_same_axes(table):
    model = mixture(COVARIANCES)
    ax = plot.clusters(model, table[0][:100])
    assert plot.ellipses(model, ax=ax) is ax
    assert len(ax.patches) == 6
    assert len(ax.lines) == 0


def test_the_objective_is_drawn_in_the_order_of_k_with_the_chosen_one_marked(sketch):
    model = compressive.fit_gmm(sketch, (1, 5))
    candidates = model.candidates
    ax = plot.objective(candidates[::-1], chosen=model.k)
    line, mark = ax.lines
    for ours, own in zip(ax.lines, plot.objective(model).lines, strict=True):
        np.testing.assert_array_equal(ours.get_xydata(), own.get_xydata())
    np.testing.assert_array_equal(line.get_xdata(), [c["k"] for c in candidates])
    np.testing.assert_array_equal(line.get_ydata(), [c["cost"] for c in candidates])
    assert list(mark.get_xdata()) == [model.k]
    assert ax.get_yscale() == "log"


def test_the_objective_takes_models_as_well(sketch):
    candidates = compressive.fit_kmeans(sketch, (2, 3)).candidates
    line, *_ = plot.objective([compressive.fit_kmeans(sketch, k) for k in (3, 2)]).lines
    np.testing.assert_array_equal(line.get_xdata(), [2, 3])
    np.testing.assert_allclose(line.get_ydata(), [c["cost"] for c in candidates], rtol=1e-6)


def test_the_modulus_is_that_of_the_sketch_above_the_floor_of_its_rows(sketch):
    ax = plot.modulus(sketch)
    points, floor = ax.lines
    np.testing.assert_allclose(points.get_xdata(), sketch.spec.radii())
    np.testing.assert_allclose(points.get_ydata(), sketch.modulus)
    np.testing.assert_allclose(floor.get_ydata(), 1 / np.sqrt(20_000))
    assert "sampling" in floor.get_label()


@pytest.mark.parametrize("recipe", [{}, {"whiten": True}, {"feature": "cosine"}, {"structured": True}])
def test_the_models_own_sketch_is_the_mean_of_rows_drawn_from_it(recipe):
    rng = np.random.default_rng(5)
    labels = rng.choice(3, 400_000, p=[0.5, 0.3, 0.2])
    rows = CENTRES[labels] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(COVARIANCES)[labels], rng.normal(size=(400_000, 3))
    )
    drawn = compressive.sketch(rows, columns=NAMES, k=3, task="gmm", size=60, **recipe)
    expected = characteristic(shape_of(mixture(COVARIANCES)), drawn.spec)
    # Each entry has a deviation of at most 1/sqrt(n); 120 of them stay within 4.5 but for one draw in 1000.
    assert np.abs(expected - drawn.mean).max() < 4.5 / np.sqrt(400_000)


def test_the_model_is_drawn_beside_the_sketch_and_falls_with_the_radius(sketch):
    ax = plot.modulus(sketch, mixture(COVARIANCES))
    points, model, _ = ax.lines
    np.testing.assert_allclose(model.get_ydata(), points.get_ydata(), atol=5 / np.sqrt(20_000))
    centres_alone = plot.modulus(sketch, compressive.fit_kmeans(sketch, 1)).lines[1]
    np.testing.assert_allclose(centres_alone.get_ydata(), 1.0, atol=1e-6)


def test_the_gain_of_one_bit_features_is_divided_out(table):
    coarse = compressive.sketch(table[0], columns=NAMES, k=3, size=400, feature="one-bit", seed=2)
    points, model, floor = plot.modulus(coarse, mixture(COVARIANCES)).lines
    high = coarse.spec.radii() > np.median(coarse.spec.radii())
    np.testing.assert_allclose(points.get_ydata()[high], model.get_ydata()[high], atol=0.05)
    np.testing.assert_allclose(floor.get_ydata(), np.sqrt(2 / 20_000) * np.pi / 4)


def test_the_floor_of_a_private_sketch_counts_its_noise(sketch):
    private = compressive.privatize(sketch, 1.0, public_spec=True)
    *_, floor = plot.modulus(private).lines
    np.testing.assert_allclose(floor.get_ydata(), np.sqrt(1 / private.rows + 2 * private.noise_std**2))


def days(table, sketch):
    rows = table[0]
    return {f"day {i}": compressive.sketch(rows[i * 2000 : (i + 1) * 2000] + (i == 3), sketch.spec) for i in range(6)}


def by_label(ax):
    return {line.get_label(): line for line in ax.lines}


def test_drift_to_a_reference_is_the_distance_that_compare_tells(table, sketch):
    sketches = days(table, sketch)
    lines = by_label(plot.drift(sketches, sketch))
    compared = [compressive.compare(sketch, day) for day in sketches.values()]
    sampling = lines["sampling alone"].get_ydata()
    np.testing.assert_allclose(sampling, [found["distance_expected"] for found in compared])
    assert list(lines["different"].get_xdata()) == [3]
    assert lines["different"].get_ydata() == pytest.approx([compared[3]["distance"]])
    assert list(lines["no difference seen"].get_xdata()) == [0, 1, 2, 4, 5]


def test_drift_without_a_reference_starts_at_the_second_sketch_and_shows_both_steps(table, sketch):
    ax = plot.drift(days(table, sketch))
    lines = by_label(ax)
    assert list(lines["sampling alone"].get_xdata()) == [1, 2, 3, 4, 5]
    assert list(lines["different"].get_xdata()) == [3, 4]
    assert [text.get_text() for text in ax.get_xticklabels()] == [f"day {i}" for i in range(6)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, k, x: plot.clusters(k, x, columns=(0, 7)), "no column 7"),
        (lambda s, k, x: plot.clusters(k, x, columns=(0, "height")), "the columns are distance, fare, tip"),
        (lambda s, k, x: plot.clusters(k, x, labels=[1, 2]), "labels has shape"),
        (lambda s, k, x: plot.clusters(k, x[:, :2]), "columns"),
        (lambda s, k, x: plot.ellipses(k), "no covariances"),
        (lambda s, k, x: plot.objective([]), "no candidates"),
        (lambda s, k, x: plot.objective([{"k": 2, "cost": 1.0}], chosen=3), "chosen is 3"),
        (lambda s, k, x: plot.drift({"a": s}), "at least two"),
        (lambda s, k, x: plot.modulus(compressive.sketch(x, k=3, feature="nystrom")), "nystrom has no frequencies"),
    ],
)
def test_what_cannot_be_drawn_is_named(table, sketch, call, message):
    with pytest.raises(ValueError, match=message):
        call(sketch, compressive.fit_kmeans(sketch, 3), table[0][:100])


def test_private_sketches_and_models_without_clusters_are_refused_by_type(sketch):
    with pytest.raises(TypeError, match="PrivateSketch cannot be compared"):
        plot.drift({"a": compressive.privatize(sketch, 1.0, public_spec=True)}, sketch)
    with pytest.raises(TypeError, match="cluster_centers_"):
        plot.clusters(object(), np.zeros((3, 3)))
