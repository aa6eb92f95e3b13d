"""Exact moments in Python: on by default, beside numpy, and off where they are not wanted."""

import json

import compressive
import numpy as np
import pytest
from format_moments import moment_sums
from safetensors.numpy import load
from sklearn import decomposition


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    return rng.normal(0, 1, (4000, 6)) @ rng.normal(0, 1, (6, 6)) + 100


def whole_numbers(words):
    """128-bit numbers from pairs of words, the lower half first."""
    return [int(high) * 2**64 + int(low) % 2**64 for low, high in words.reshape(-1, 2)]


@pytest.mark.parametrize("columns, kept", [(6, "full"), (130, "diagonal")])
def test_the_sums_are_those_of_whole_numbers(columns, kept):
    table = np.random.default_rng(3).normal(2, 1.5, (300, columns))
    spec = compressive.design(table, k=2, size=20)
    assert spec.moments == kept
    words = load(compressive.sketch(table, spec).to_bytes())["moments"]
    count, first, second = moment_sums(json.loads(spec.to_json()), table)
    assert words[0] == count == 0
    assert whole_numbers(words[1:]) == first + second


def test_components_are_those_of_scikit_learn(rows):
    found, exact = compressive.PCA(3, random_state=0).fit(rows), decomposition.PCA(3).fit(rows)
    np.testing.assert_allclose(found.explained_variance_, exact.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(found.components_ * exact.components_, axis=1)), 1, atol=1e-9)
    np.testing.assert_allclose(found.mean_, exact.mean_, atol=1e-8)
    assert found.spec_.moments == "full" and found.spec_.feature == "fourier"
    for decoder in ("factorised", "psd"):
        assert compressive.PCA(3, decoder=decoder, random_state=0).fit(rows).spec_.feature == "quadratic"


def test_they_can_be_left_out(rows):
    plain = compressive.design(rows, k=2, moments=False)
    assert plain.moments is None and "moments" not in json.loads(plain.to_json())
    assert compressive.design(rows, k=2, feature="one-bit").moments is None
    private = compressive.design(rows, k=2, bounds=(80.0, 120.0), private=0)
    assert private.moments is None
    with pytest.raises(compressive.CompressiveError, match="moments=False"):
        compressive.design(rows, k=2, bounds=(80.0, 120.0), private=0, moments=True)
    exact = compressive.sketch(rows, compressive.design(rows, k=2))
    released = compressive.privatize(exact, 1.0, public_spec=True)
    assert released.spec.moments is None and released.spec == plain
