//! From the text of a query to its parts.
//!
//! ```text
//! query      = histogram(value, bins) | histogram(value, low, high, bins) | quantile(value, p) | outer
//! outer      = arithmetic over numbers and aggregates
//! aggregate  = mean(value [rows]) | sum(value [rows]) | share(condition [rows]) | count(condition) | count()
//!            | var(value) | std(value) | cov(value, value) | corr(value, value)
//! rows       = "where" condition
//! value      = or
//! or         = and { "or" and }            and  = not { "and" not }          not   = "not" not | chain
//! chain      = sum { ("<" | "<=" | ">" | ">=") sum }                        sum   = term { ("+" | "-") term }
//! term       = sign { ("*" | "/") sign }   sign = "-" sign | power           power = atom [ "^" sign ]
//! atom       = column ("=" | "!=") level | number | column | `column` | abs(value) | exp(value) | log(value) | sqrt(value) | "(" or ")"
//! ```
//!
//! A level is a text in quotes, or a word or a number, of a column that is read as a category.
//!
//! A chain `1 < x <= 3` means that both comparisons hold.

use super::expr::{Expr, Function, Linear, Operator};
use super::token::{Token, tokens};
use crate::error::{Error, Result};

/// What a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueryKind {
    /// A number: an expression in the means of `linears`.
    Number { outer: Expr, range: (f64, f64) },
    /// The share of rows in each of equal bins of the value of the first of `linears`; the range if it was
    /// given.
    Histogram { range: Option<(f64, f64)>, bins: usize },
    /// The value below which this share of rows lies.
    Quantile { level: f64 },
}

/// Most bins of a histogram.
pub(super) const BINS_MAX: usize = 1000;
/// Deepest nesting of an expression.
const DEPTH_MAX: usize = 100;

const AGGREGATES: &str = "mean, sum, var, std, cov, corr, share, count, quantile, histogram";

/// Reads a query against the names of the columns.
pub(super) fn parse(text: &str, columns: &[String]) -> Result<(QueryKind, Vec<Linear>)> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        text,
        columns,
        tokens,
        next: 0,
        linears: Vec::new(),
        inside: false,
        depth: 0,
        aggregates: 0,
    };
    let kind = parser.query()?;
    match parser.peek() {
        Token::End => Ok((kind, parser.linears)),
        other => parser.fail(format!("{other} does not belong here; join aggregates with + - * /")),
    }
}

struct Parser<'a> {
    text: &'a str,
    columns: &'a [String],
    tokens: Vec<(Token, usize)>,
    next: usize,
    linears: Vec<Linear>,
    /// Whether an aggregate is open.
    inside: bool,
    depth: usize,
    /// Aggregates met so far.
    aggregates: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].0.clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn fail<T>(&self, problem: String) -> Result<T> {
        self.fail_at(self.next, problem)
    }

    fn fail_at<T>(&self, token: usize, problem: String) -> Result<T> {
        Err(Error::Query { text: self.text.into(), at: self.tokens[token].1, problem })
    }

    fn take(&mut self, symbol: &'static str) -> bool {
        let met = *self.peek() == Token::Symbol(symbol);
        if met {
            self.advance();
        }
        met
    }

    fn take_word(&mut self, word: &str) -> bool {
        let met = matches!(self.peek(), Token::Name { text, quoted: false } if text == word);
        if met {
            self.advance();
        }
        met
    }

    fn expect(&mut self, symbol: &'static str) -> Result<()> {
        if self.take(symbol) {
            return Ok(());
        }
        self.fail(format!("expected `{symbol}`, found {}", self.peek()))
    }

    fn query(&mut self) -> Result<QueryKind> {
        let start = self.next;
        if let Token::Name { text, quoted: false } = self.peek().clone()
            && self.tokens.get(1).is_some_and(|(t, _)| *t == Token::Symbol("("))
        {
            match text.as_str() {
                "histogram" => return self.histogram(),
                "quantile" => return self.quantile(),
                _ => {}
            }
        }
        let outer = self.or()?;
        if self.aggregates == 0 {
            return self.fail_at(
                start,
                format!("there is no aggregate in it; write one of {AGGREGATES}, such as mean(x)"),
            );
        }
        let range = match &self.tokens[start].0 {
            Token::Name { text, .. } if self.aggregates == 1 && self.is_alone(start) => match text.as_str() {
                "share" => (0.0, 1.0),
                "count" | "var" | "std" => (0.0, f64::INFINITY),
                "corr" => (-1.0, 1.0),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            },
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Ok(QueryKind::Number { outer, range })
    }

    /// Whether the call that starts at a token is all there is: the bracket that closes it is the last token.
    fn is_alone(&self, start: usize) -> bool {
        let mut open = 0usize;
        for (index, (token, _)) in self.tokens.iter().enumerate().skip(start + 1) {
            match token {
                Token::Symbol("(") => open += 1,
                Token::Symbol(")") => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                return index + 2 == self.tokens.len();
            }
        }
        false
    }

    fn histogram(&mut self) -> Result<QueryKind> {
        self.advance();
        self.expect("(")?;
        let value = self.value()?;
        let mut numbers = Vec::new();
        while self.take(",") {
            numbers.push((self.signed_number()?, self.next - 1));
        }
        self.expect(")")?;
        let at = |i: usize| numbers.get(i).map_or(self.next, |(_, token)| *token);
        let (range, bins) = match numbers.iter().map(|(x, _)| *x).collect::<Vec<f64>>()[..] {
            [bins] => (None, bins),
            [low, high, _] if !(low < high) => {
                return self
                    .fail_at(at(0), format!("the range {low} to {high} is empty; give the lower end first"));
            }
            [low, high, bins] => (Some((low, high)), bins),
            _ => return self.fail("write histogram(x, bins) or histogram(x, low, high, bins)".into()),
        };
        if !(bins.fract() == 0.0 && (1.0..=BINS_MAX as f64).contains(&bins)) {
            let last = at(numbers.len() - 1);
            return self.fail_at(
                last,
                format!("{bins} is not a number of bins; give a whole number from 1 to {BINS_MAX}"),
            );
        }
        self.linears.push(Linear::of(value));
        Ok(QueryKind::Histogram { range, bins: bins as usize })
    }

    fn quantile(&mut self) -> Result<QueryKind> {
        self.advance();
        self.expect("(")?;
        let value = self.value()?;
        self.expect(",")?;
        let level = self.signed_number()?;
        if !(level > 0.0 && level < 1.0) {
            return self
                .fail_at(self.next - 1, format!("{level} is not a share; give a number between 0 and 1"));
        }
        self.expect(")")?;
        self.linears.push(Linear::of(value));
        Ok(QueryKind::Quantile { level })
    }

    fn signed_number(&mut self) -> Result<f64> {
        let sign = if self.take("-") { -1.0 } else { 1.0 };
        match self.peek().clone() {
            Token::Number(value) => {
                self.advance();
                Ok(sign * value)
            }
            other => self.fail(format!("expected a number, found {other}")),
        }
    }

    /// An expression in the columns.
    fn value(&mut self) -> Result<Expr> {
        self.inside = true;
        let value = self.or();
        self.inside = false;
        value
    }

    fn or(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fail(format!("more than {DEPTH_MAX} brackets are open; write it flatter"));
        }
        let mut left = self.and()?;
        while self.take_word("or") {
            left = Expr::binary(Operator::Or, left, self.and()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.take_word("and") {
            left = Expr::binary(Operator::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        let mut turns = 0usize;
        while self.take_word("not") {
            turns += 1;
        }
        let mut value = self.chain()?;
        for _ in 0..if turns == 0 { 0 } else { 2 - turns % 2 } {
            value = Expr::Call(Function::Not, Box::new(value));
        }
        Ok(value)
    }

    fn chain(&mut self) -> Result<Expr> {
        const COMPARISONS: [(&str, Operator); 4] = [
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let mut last = self.sum()?;
        let mut chain: Option<Expr> = None;
        while let Some((symbol, operator)) =
            COMPARISONS.into_iter().find(|(s, _)| *self.peek() == Token::Symbol(s))
        {
            if !self.inside {
                return self.fail("a condition belongs inside an aggregate, such as share(x < 3)".into());
            }
            self.take(symbol);
            let right = self.sum()?;
            let one = Expr::binary(operator, last, right.clone());
            last = right;
            chain = Some(match chain {
                None => one,
                Some(before) => Expr::binary(Operator::And, before, one),
            });
        }
        Ok(chain.unwrap_or(last))
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.term()?;
        loop {
            let operator = match self.peek() {
                Token::Symbol("+") => Operator::Add,
                Token::Symbol("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            left = Expr::binary(operator, left, self.term()?);
        }
    }

    fn term(&mut self) -> Result<Expr> {
        let mut left = self.sign()?;
        loop {
            let operator = match self.peek() {
                Token::Symbol("*") => Operator::Multiply,
                Token::Symbol("/") => Operator::Divide,
                _ => return Ok(left),
            };
            self.advance();
            left = Expr::binary(operator, left, self.sign()?);
        }
    }

    fn sign(&mut self) -> Result<Expr> {
        let mut negative = false;
        while self.take("-") {
            negative = !negative;
        }
        let value = self.power()?;
        Ok(if negative { Expr::Call(Function::Negate, Box::new(value)) } else { value })
    }

    fn power(&mut self) -> Result<Expr> {
        let base = self.atom()?;
        if !self.take("^") {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fail(format!("more than {DEPTH_MAX} powers of powers; write it flatter"));
        }
        let exponent = self.sign()?;
        self.depth -= 1;
        Ok(Expr::binary(Operator::Power, base, exponent))
    }

    fn atom(&mut self) -> Result<Expr> {
        let start = self.next;
        match self.advance() {
            Token::Number(value) => Ok(Expr::Number(value)),
            Token::Symbol("(") => {
                let value = self.or()?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Name { text, quoted } if quoted || *self.peek() != Token::Symbol("(") => {
                match self.equality() {
                    Some(equal) => self.level(start, &text, equal),
                    None => self.column(start, &text),
                }
            }
            Token::Name { text, .. } => self.call(start, &text),
            other => self.fail_at(start, format!("expected a number, a column or a function, found {other}")),
        }
    }

    /// Takes `=` or `!=`; whether it was the former.
    fn equality(&mut self) -> Option<bool> {
        if self.take("=") || self.take("==") {
            return Some(true);
        }
        self.take("!=").then_some(false)
    }

    /// Whether the row's level of a category is, or is not, the one that is next.
    fn level(&mut self, start: usize, column: &str, equal: bool) -> Result<Expr> {
        if !self.inside {
            return self
                .fail_at(start, "a condition belongs inside an aggregate, such as share(x < 3)".into());
        }
        let prefix = format!("{column}=");
        let levels = || self.columns.iter().filter_map(|name| name.strip_prefix(&prefix));
        if levels().next().is_none() {
            let problem = match self.columns.iter().any(|name| name == column) {
                true => {
                    "equality of numbers cannot be answered from a sketch; ask for a range, such as 2.5 <= x and x < 3.5"
                }
                false => "equality is for columns that are read as categories, and this is none of them",
            };
            return self.fail_at(start + 1, problem.into());
        }
        let at = self.next;
        let level = match self.advance() {
            Token::Text(text) | Token::Name { text, .. } => text,
            Token::Number(value) => value.to_string(),
            other => return self.fail_at(at, format!("expected a level in quotes, found {other}")),
        };
        let Some(index) = self.columns.iter().position(|name| *name == format!("{prefix}{level}")) else {
            let known: Vec<&str> =
                self.columns.iter().filter_map(|name| name.strip_prefix(&prefix)).take(12).collect();
            let known = known.join(", ");
            return self.fail_at(at, format!("`{column}` has no level {level:?} of its own; it has {known}"));
        };
        let found = Expr::Level(index);
        Ok(if equal { found } else { Expr::Call(Function::Not, Box::new(found)) })
    }

    /// Names of columns, each category by its own.
    fn known(&self) -> Vec<&str> {
        let mut known: Vec<&str> = self
            .columns
            .iter()
            .map(|name| name.split_once('=').map_or(name.as_str(), |(column, _)| column))
            .collect();
        known.dedup();
        known
    }

    fn column(&self, start: usize, name: &str) -> Result<Expr> {
        let Some(index) = self.columns.iter().position(|column| column == name) else {
            let prefix = format!("{name}=");
            if let Some(level) = self.columns.iter().find_map(|column| column.strip_prefix(&prefix)) {
                let problem = format!(
                    "`{name}` is read as categories; ask for shares, such as share({name} = '{level}')"
                );
                return self.fail_at(start, problem);
            }
            let known = self.known();
            let shown: Vec<&str> = known.iter().take(12).copied().collect();
            let more = if known.len() > shown.len() { ", ..." } else { "" };
            return self.fail_at(
                start,
                format!("there is no column `{name}`; the sketch has {}{more}", shown.join(", ")),
            );
        };
        if !self.inside {
            return self.fail_at(
                start,
                format!("`{name}` has a value for each row; put it into an aggregate, such as mean({name})"),
            );
        }
        Ok(Expr::Column(index))
    }

    /// A function or an aggregate; its name is read, its bracket is next.
    fn call(&mut self, start: usize, name: &str) -> Result<Expr> {
        let function = match name {
            "abs" => Some(Function::Abs),
            "exp" => Some(Function::Exp),
            "log" => Some(Function::Log),
            "sqrt" => Some(Function::Sqrt),
            _ => None,
        };
        if let Some(function) = function {
            self.expect("(")?;
            let value = self.or()?;
            self.expect(")")?;
            return Ok(Expr::Call(function, Box::new(value)));
        }
        if matches!(name, "histogram" | "quantile") {
            return self
                .fail_at(start, format!("{name} is a query of its own; it cannot be part of another"));
        }
        if !matches!(name, "mean" | "sum" | "var" | "std" | "cov" | "corr" | "share" | "count") {
            let known = format!("the aggregates are {AGGREGATES}; the functions are abs, exp, log, sqrt");
            return self.fail_at(start, format!("there is no function `{name}`; {known}"));
        }
        if self.inside {
            return self.fail_at(
                start,
                format!("{name} cannot be inside another aggregate; ask for it first and put in the number"),
            );
        }
        self.aggregates += 1;
        self.aggregate(name)
    }

    fn aggregate(&mut self, name: &str) -> Result<Expr> {
        self.expect("(")?;
        if name == "count" && self.take(")") {
            return Ok(Expr::Rows);
        }
        let first = self.next;
        let value = self.value()?;
        if matches!(name, "share" | "count") && !value.is_condition() {
            return self
                .fail_at(first, format!("{name} needs a condition, such as {name}(x < 3 and y >= 0)"));
        }
        if self.take_word("where") {
            return self.among(name, value);
        }
        let other = match name {
            "cov" | "corr" => {
                self.expect(",")?;
                Some(self.value()?)
            }
            _ => None,
        };
        self.expect(")")?;
        let rows = |mean| Expr::binary(Operator::Multiply, Expr::Rows, mean);
        Ok(match (name, other) {
            ("sum" | "count", _) => rows(self.mean(Linear::of(value.share()))),
            ("var", _) => self.covariance(value.clone(), value),
            ("std", _) => root(self.covariance(value.clone(), value)),
            ("cov", Some(other)) => self.covariance(value, other),
            ("corr", Some(other)) => {
                let both = self.covariance(value.clone(), other.clone());
                let (a, b) = (self.covariance(value.clone(), value), self.covariance(other.clone(), other));
                Expr::binary(Operator::Divide, both, root(Expr::binary(Operator::Multiply, a, b)))
            }
            _ => self.mean(Linear::of(value.share())),
        })
    }

    /// An aggregate of the rows for which a condition holds, which is next: the mean over all rows of what is
    /// 0 in the others, over their share.
    fn among(&mut self, name: &str, value: Expr) -> Result<Expr> {
        let start = self.next;
        if !matches!(name, "mean" | "sum" | "share") {
            return self.fail_at(
                start - 1,
                format!("`where` belongs into mean, sum and share, not into {name}; for a count write count(A and B)"),
            );
        }
        let condition = self.value()?;
        if !condition.is_condition() {
            return self.fail_at(start, "a condition follows `where`, such as mean(x where y < 3)".into());
        }
        self.expect(")")?;
        let kind = if value.is_condition() { Operator::And } else { Operator::Multiply };
        let both = self.mean(Linear::of(Expr::binary(kind, value, condition.clone())));
        Ok(match name {
            "sum" => Expr::binary(Operator::Multiply, Expr::Rows, both),
            _ => Expr::binary(Operator::Divide, both, self.mean(Linear::of(condition.share()))),
        })
    }

    /// The mean of a linear part; equal parts are kept once.
    fn mean(&mut self, linear: Linear) -> Expr {
        let known = self.linears.iter().position(|l| *l == linear);
        let index = known.unwrap_or_else(|| {
            self.linears.push(linear);
            self.linears.len() - 1
        });
        Expr::Mean(index)
    }

    /// $E(a - c_a)(b - c_b) - E(a - c_a)\,E(b - c_b)$, the same for any centres.
    fn covariance(&mut self, a: Expr, b: Expr) -> Expr {
        let one = |a: &Expr| Linear { factors: vec![a.clone()], centred: true };
        let (mean_a, mean_b) = (self.mean(one(&a)), self.mean(one(&b)));
        let both = self.mean(Linear { factors: vec![a, b], centred: true });
        Expr::binary(Operator::Subtract, both, Expr::binary(Operator::Multiply, mean_a, mean_b))
    }
}

fn root(value: Expr) -> Expr {
    Expr::Call(Function::Sqrt, Box::new(value))
}
