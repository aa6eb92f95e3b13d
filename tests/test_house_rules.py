"""The house rules are kept by the tree, and each rule of the core notices a planted breach."""

import pytest
from house_rules import CORE, TYPES_LIMIT, complaints, public_types, surface, too_many, upward


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


@pytest.mark.parametrize(
    "text",
    [
        "sketch again with --size 96",
        "it gives components (`--task pca`)",
        "--feature fourier is better",
        "give -k 1 or more",
        "`compressive score MODEL DATA` measures it",
        "a long text, \\\n         and a larger --pilot",
    ],
)
def test_a_flag_in_a_text_of_the_core_is_noticed(text):
    assert len(list(surface(CORE + "learn/mod.rs", f'    fail("{text}");'.splitlines()))) == 1


def test_a_flag_in_another_library_is_noticed_also_after_an_address():
    lines = ['    let place = "https://example.org";', '    say("give --size 3");']
    assert len(list(surface("crates/compressive-report/src/text.rs", lines))) == 1


def test_remedies_comments_tests_and_surfaces_are_free():
    lines = ['fail("sketch again", Remedy::Raise(Size)); // `--size`', 'say("2 - k rows -- or a compressive sketch")']
    lines += ["#[cfg(test)]", "mod tests {", '    says("--size");']
    assert list(surface(CORE + "learn/mod.rs", lines)) == []
    assert list(surface("crates/compressive-cli/src/words.rs", ['say("--size")'])) == []


def test_public_types_are_counted_and_too_many_are_noticed():
    kinds = ["struct", "enum", "trait", "type"]
    items = [f'<li><a href="ask/{kind}.Name{i}.html">ask::Name{i}</a></li>' for i in range(30) for kind in kinds]
    page = '<li><a href="fn.learn.html">learn</a></li>' + "".join(items[:TYPES_LIMIT])
    assert len(public_types(page)) == TYPES_LIMIT and list(too_many(page)) == []
    assert len(list(too_many(page + items[TYPES_LIMIT]))) == 1
