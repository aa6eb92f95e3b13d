//! Expressions over the columns of a row, and over the answers of a query.
//!
//! A condition is the number 1 where it holds and 0 where it does not, so that a share is a mean.

/// What an expression is evaluated with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    /// The columns of a row; empty outside of aggregates.
    pub row: &'a [f64],
    /// The means that the expression refers to; empty inside of aggregates.
    pub means: &'a [f64],
    /// Number of rows of the table.
    pub rows: f64,
}

/// An expression. Inside of an aggregate it has columns; outside it has means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// A constant.
    Number(f64),
    /// The value of a column.
    Column(usize),
    /// Whether a row has the level of a category whose indicator is this column.
    Level(usize),
    /// The mean of the linear part of that index.
    Mean(usize),
    /// The number of rows.
    Rows,
    /// A function of one number.
    Call(Function, Box<Expr>),
    /// An operation on two.
    Binary(Operator, Box<Expr>, Box<Expr>),
}

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Negate,
    Not,
    Abs,
    Exp,
    Log,
    /// The square root; of a negative number 0, as variances that are zero may be estimated a little below.
    Sqrt,
}

/// Operations on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}

/// What an indicator is compared with: cells of several levels have a normal law of its mean and variance,
/// of which about the share of the level lies above.
const LEVEL_BAR: f64 = 0.5;

impl Expr {
    pub(super) fn binary(operator: Operator, a: Expr, b: Expr) -> Expr {
        Expr::Binary(operator, Box::new(a), Box::new(b))
    }

    /// The value; not finite where a function is not defined.
    pub(super) fn eval(&self, scope: &Scope<'_>) -> f64 {
        match self {
            Expr::Number(value) => *value,
            Expr::Column(column) => scope.row[*column],
            Expr::Level(column) => truth(scope.row[*column] >= LEVEL_BAR),
            Expr::Mean(index) => scope.means[*index],
            Expr::Rows => scope.rows,
            Expr::Call(function, a) => function.apply(a.eval(scope)),
            Expr::Binary(operator, a, b) => operator.apply(a.eval(scope), b.eval(scope)),
        }
    }

    /// The comparisons of a column with a number in it.
    pub(super) fn bars(&self, out: &mut Vec<(usize, f64)>) {
        let constant = |e: &Expr| {
            let mut columns = Vec::new();
            e.columns(&mut columns);
            let none = Scope { row: &[], means: &[], rows: 0.0 };
            (columns.is_empty() && !matches!(e, Expr::Mean(_))).then(|| e.eval(&none))
        };
        match self {
            Expr::Binary(operator, a, b) => {
                if operator.is_comparison() {
                    match (&**a, &**b) {
                        (Expr::Column(c), other) | (other, Expr::Column(c)) => {
                            out.extend(constant(other).map(|t| (*c, t)));
                        }
                        _ => {}
                    }
                }
                a.bars(out);
                b.bars(out);
            }
            Expr::Call(_, a) => a.bars(out),
            Expr::Level(c) => out.push((*c, LEVEL_BAR)),
            Expr::Column(_) | Expr::Number(_) | Expr::Mean(_) | Expr::Rows => {}
        }
    }

    /// Columns that the expression has, as often as it has them.
    pub(super) fn columns(&self, out: &mut Vec<usize>) {
        match self {
            Expr::Column(c) | Expr::Level(c) => out.push(*c),
            Expr::Call(_, a) => a.columns(out),
            Expr::Binary(_, a, b) => {
                a.columns(out);
                b.columns(out);
            }
            Expr::Number(_) | Expr::Mean(_) | Expr::Rows => {}
        }
    }

    /// The share of rows on which it holds, as a mean: that of an indicator is the share of its level, which
    /// says more than where the indicator lies.
    pub(super) fn share(self) -> Expr {
        match self {
            Expr::Level(column) => Expr::Column(column),
            Expr::Call(Function::Not, inner) if matches!(*inner, Expr::Level(_)) => {
                Expr::binary(Operator::Subtract, Expr::Number(1.0), inner.share())
            }
            other => other,
        }
    }

    /// Whether the value is 0 or 1 by construction.
    pub(super) fn is_condition(&self) -> bool {
        match self {
            Expr::Call(function, _) => *function == Function::Not,
            Expr::Level(_) => true,
            Expr::Binary(operator, ..) => operator.is_condition(),
            _ => false,
        }
    }
}

impl Function {
    fn apply(self, x: f64) -> f64 {
        match self {
            Function::Negate => -x,
            Function::Not => truth(x == 0.0),
            Function::Abs => x.abs(),
            Function::Exp => x.exp(),
            Function::Log => x.ln(),
            Function::Sqrt => x.max(0.0).sqrt(),
        }
    }
}

impl Operator {
    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            // Whole powers are exact for negative numbers, too.
            Operator::Power if b.fract() == 0.0 && b.abs() <= 64.0 => a.powi(b as i32),
            Operator::Power => a.powf(b),
            Operator::Less => truth(a < b),
            Operator::LessEqual => truth(a <= b),
            Operator::Greater => truth(a > b),
            Operator::GreaterEqual => truth(a >= b),
            Operator::And => truth(a != 0.0 && b != 0.0),
            Operator::Or => truth(a != 0.0 || b != 0.0),
        }
    }

    fn is_comparison(self) -> bool {
        matches!(self, Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual)
    }

    pub(super) fn is_condition(self) -> bool {
        !matches!(
            self,
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Power
        )
    }
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

/// A mean over the rows: of a product of expressions, each less its centre if `centred`.
///
/// Variances are taken around the law's means, so that columns far from zero lose no digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub factors: Vec<Expr>,
    pub centred: bool,
}

impl Linear {
    pub(super) fn of(expr: Expr) -> Linear {
        Linear { factors: vec![expr], centred: false }
    }

    /// The value at a row; `centres` has one number a factor.
    pub(super) fn at(&self, row: &[f64], centres: &[f64]) -> f64 {
        let scope = Scope { row, means: &[], rows: 0.0 };
        self.factors.iter().zip(centres).map(|(f, c)| f.eval(&scope) - c).product()
    }
}
