//! Conditions on levels of categories as sums of products of their indicators.
//!
//! An indicator I is 0 or 1, so that $I^2 = I$, and indicators of two levels of one column are never 1 in one
//! row: their product is 0. "and" is the product, "or" is $a + b - ab$, "not" is $1 - a$. What is left has a
//! mean that exact moments tell if no product has more than two factors.

use std::collections::BTreeMap;

use super::expr::{Expr, Function, Operator};

/// Products that a condition may have at most.
const PRODUCTS: usize = 4096;
/// Indicators of a product at most; three and more are in no moment.
const FACTORS: usize = 2;

/// Coefficients of products of indicators, each a sorted list of coordinates.
pub(super) type Products = BTreeMap<Vec<usize>, f64>;

/// A condition that is made of levels alone; none otherwise, or if it has products of more indicators than
/// moments tell. `column` is the table's column of each coordinate.
pub(super) fn products(condition: &Expr, column: &[usize]) -> Option<Products> {
    let found = expanded(condition, column)?;
    found.keys().all(|product| product.len() <= FACTORS).then_some(found)
}

fn expanded(condition: &Expr, column: &[usize]) -> Option<Products> {
    let one = || Products::from([(Vec::new(), 1.0)]);
    match condition {
        Expr::Level(c) => Some(Products::from([(vec![*c], 1.0)])),
        Expr::Call(Function::Not, inner) => Some(sum(one(), &expanded(inner, column)?, -1.0)),
        Expr::Binary(operator @ (Operator::And | Operator::Or), a, b) => {
            let (a, b) = (expanded(a, column)?, expanded(b, column)?);
            let both = times(&a, &b, column)?;
            Some(if *operator == Operator::And { both } else { sum(sum(a, &b, 1.0), &both, -1.0) })
        }
        _ => None,
    }
}

fn sum(mut a: Products, b: &Products, sign: f64) -> Products {
    for (product, value) in b {
        *a.entry(product.clone()).or_default() += sign * value;
    }
    a.retain(|_, value| *value != 0.0);
    a
}

fn times(a: &Products, b: &Products, column: &[usize]) -> Option<Products> {
    let mut out = Products::new();
    for (left, x) in a {
        for (right, y) in b {
            let mut both: Vec<usize> = left.iter().chain(right).copied().collect();
            both.sort_unstable();
            both.dedup();
            // Two levels of one column.
            if both.windows(2).all(|pair| column[pair[0]] != column[pair[1]]) {
                *out.entry(both).or_default() += x * y;
            }
        }
        if out.len() > PRODUCTS {
            return None;
        }
    }
    out.retain(|_, value| *value != 0.0);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_levels_are_sums_of_products() {
        // Coordinates 0 to 2 are levels of one column, 3 and 4 of another, 5 of a third.
        let column = [0, 0, 0, 1, 1, 2];
        let level = Expr::Level;
        let and = |a, b| Expr::binary(Operator::And, a, b);
        let or = |a, b| Expr::binary(Operator::Or, a, b);
        let not = |a| Expr::Call(Function::Not, Box::new(a));
        let of = |e: Expr| products(&e, &column).map(|found| found.into_iter().collect::<Vec<_>>());
        assert_eq!(of(and(level(1), level(1))), Some(vec![(vec![1], 1.0)]));
        assert_eq!(of(and(level(1), level(2))), Some(vec![]));
        assert_eq!(of(or(level(0), level(2))), Some(vec![(vec![0], 1.0), (vec![2], 1.0)]));
        let two = and(or(level(0), level(2)), not(level(4)));
        let wanted = vec![(vec![0], 1.0), (vec![0, 4], -1.0), (vec![2], 1.0), (vec![2, 4], -1.0)];
        assert_eq!(of(two), Some(wanted));
        assert_eq!(of(and(and(level(0), level(3)), level(5))), None);
        // A third column that does not matter in the end.
        let either = or(and(and(level(0), level(3)), level(5)), and(and(level(0), level(3)), not(level(5))));
        assert_eq!(of(either), Some(vec![(vec![0, 3], 1.0)]));
        assert_eq!(of(Expr::binary(Operator::Less, level(0), Expr::Number(1.0))), None);
    }
}
