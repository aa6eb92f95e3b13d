"""A private release: two hospitals publish one sketch each, and anyone learns from both.

1. The hospitals agree on a recipe that looks at no patient: declared bounds, and a width of clusters that
   doctors would expect.
2. Each sketches its own patients, adds noise, and publishes the result. The promise of differential privacy is that
   nobody can tell from it whether any one patient was in the table.
3. Anyone merges the releases and learns any number of models from them; nothing of that costs more privacy.
4. What the promise costs in accuracy, for several budgets epsilon, beside k-means on the patients themselves.

    python private_release.py                # 100,000 patients in all
    python private_release.py --rows 1000000
"""

from __future__ import annotations

import argparse
import json

import compressive
import numpy as np

COLUMNS = ["systolic", "diastolic", "glucose"]
BOUNDS = {"systolic": (60, 240), "diastolic": (30, 150), "glucose": (30, 330)}
GROUPS = np.array([[115, 72, 88], [155, 95, 100], [130, 80, 205], [98, 60, 75]])
SHARES = [0.5, 0.25, 0.15, 0.1]
K = len(GROUPS)
EPSILON = 0.05


def patients(n_rows: int, shares: list[float], seed: int) -> np.ndarray:
    """Made-up measurements of four kinds of patients, of shape (n, 3)."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(K, n_rows, p=shares)
    return GROUPS[kind] + rng.normal(0, [8, 6, 11], (n_rows, 3))


def cost(rows: np.ndarray, centres: np.ndarray) -> float:
    """Mean squared distance to the nearest centre."""
    return float(((rows[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1).mean())


def centres(sketch: compressive.Sketch | compressive.PrivateSketch) -> np.ndarray:
    return compressive.fit_kmeans(sketch, K).parameters["centers"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="patients of both hospitals together")
    n_rows = parser.parse_args().rows
    city = patients(n_rows // 2, SHARES, 1)
    coast = patients(n_rows - n_rows // 2, [0.2, 0.3, 0.4, 0.1], 2)
    everyone = np.vstack([city, coast])

    # 1. With private=0 no row is read: the array is there for its number of columns. The scale counts in quarters of
    # the box's width; 0.25 suits clusters with a deviation of about a sixth of that.
    spec = compressive.design(city[:0], K, columns=COLUMNS, bounds=BOUNDS, private=0, scale=0.25, size=60)
    print(spec)

    # 2. What each hospital does behind its doors, once.
    releases = [compressive.privatize(compressive.sketch(rows, spec), epsilon=EPSILON) for rows in (city, coast)]
    for name, release in zip(["city", "coast"], releases, strict=True):
        promise = json.loads(release.releases_json)[0]
        print(
            f"{name} hospital: about {release.rows:,} patients (+- {release.rows_std:.0f}), epsilon "
            f"{promise['epsilon']:g}, {promise['mechanism']['name']}, {len(release.to_bytes()) / 1000:.1f} kB"
        )

    # 3. Anyone, from the two files alone. Each patient is in one table, so the promise of the sum is that of each.
    both = releases[0] + releases[1]
    print("\ncentres from the two releases")
    for centre in sorted(centres(both).tolist()):
        print("  " + "  ".join(f"{name} {value:5.1f}" for name, value in zip(COLUMNS, centre, strict=True)))
    exact = compressive.sketch(everyone, spec)
    reference = cost(everyone, centres(exact))
    print("\nmean squared distance of all patients to their centre, relative to centres without noise")
    for name, release in [("city alone", releases[0]), ("coast alone", releases[1]), ("both", both)]:
        print(f"  {name:12}{cost(everyone, centres(release)) / reference:8.3f}")

    # 4. The worth of a budget; the median of five releases, since the noise is different every time.
    print("\nepsilon  noise on an entry  (sampling)  cost relative to no noise")
    for epsilon in [0.01, 0.03, 0.1, 0.3, 1.0]:
        tries = [compressive.privatize(exact, epsilon) for _ in range(5)]
        median = float(np.median([cost(everyone, centres(release)) for release in tries]))
        sampling = np.sqrt(0.5 / exact.rows)
        print(f"{epsilon:7g}  {tries[0].noise_std:17.5f}  {sampling:10.5f}  {median / reference:25.3f}")
    # Five releases of the same rows, as here, would cost five times epsilon: a study like this one needs data that
    # are public, or made up.


if __name__ == "__main__":
    main()
