"""The house rules are kept by the tree, and each rule of the core notices a planted breach."""

import pytest
from house_rules import CORE, complaints, upward


def test_the_tree_keeps_the_rules():
    assert list(complaints()) == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("num/linear.rs", "use crate::sketch::Sketch;"),
        ("design/mod.rs", "    let found = crate::learn::kmeans(target);"),
        ("model/mod.rs", "use crate::density::{Fit, Target};"),
        ("learn/mod.rs", "pub use crate::ask::diagnose;"),
    ],
)
def test_an_arrow_upwards_is_noticed(place, line):
    assert len(list(upward(CORE + place, ["use crate::error::Error;", line]))) == 1


def test_arrows_downwards_comments_and_tests_are_free():
    lines = ["use crate::num::linear::dot;", "// crate::ask is above", "#[cfg(test)]", "mod tests {", "    use crate::ask::query;"]
    assert list(upward(CORE + "sketch/spec.rs", lines)) == []
