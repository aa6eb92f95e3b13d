//! The words and symbols of a query.

use std::fmt;

use crate::error::{Error, Result};

/// A piece of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A name; `quoted` if it was written in backticks, and then it is a column.
    Name {
        text: String,
        quoted: bool,
    },
    /// A text in quotes: a level of a category.
    Text(String),
    Symbol(&'static str),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Number(value) => write!(out, "the number {value}"),
            Token::Name { text, .. } => write!(out, "`{text}`"),
            Token::Text(text) => write!(out, "the text {text:?}"),
            Token::Symbol(symbol) => write!(out, "`{symbol}`"),
            Token::End => write!(out, "the end"),
        }
    }
}

/// Longest query, in characters.
const LENGTH_MAX: usize = 10_000;

const SYMBOLS: [&str; 15] = ["<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", ","];

/// Splits a query, each token with the place of its first character; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let chars: Vec<char> = text.chars().collect();
    let fail = |at: usize, problem: String| Err(Error::Query { text: text.into(), at, problem });
    if chars.len() > LENGTH_MAX {
        let problem = format!("it has {} characters, more than {LENGTH_MAX}", chars.len());
        return Err(Error::Query { text: chars[..40].iter().collect(), at: 0, problem });
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let start = at;
        let c = chars[at];
        let run = |keep: &dyn Fn(char) -> bool| chars[start..].iter().take_while(|c| keep(**c)).count();
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        let token = if c == '`' {
            let Some(length) = chars[at + 1..].iter().position(|c| *c == '`') else {
                return fail(at, "this backtick is not closed; write `column name`".into());
            };
            at += length + 2;
            Token::Name { text: chars[start + 1..at - 1].iter().collect(), quoted: true }
        } else if c.is_ascii_digit() || c == '.' {
            at += number_length(&chars[start..]);
            let written: String = chars[start..at].iter().collect();
            match written.parse::<f64>() {
                Ok(value) if value.is_finite() => Token::Number(value),
                _ => return fail(start, format!("`{written}` is not a number")),
            }
        } else if c.is_alphabetic() || c == '_' {
            at += run(&|c| c.is_alphanumeric() || c == '_');
            Token::Name { text: chars[start..at].iter().collect(), quoted: false }
        } else if c == '\'' || c == '"' {
            let Some(length) = chars[at + 1..].iter().position(|other| *other == c) else {
                return fail(at, format!("this quote is not closed; write {c}level{c}"));
            };
            at += length + 2;
            Token::Text(chars[start + 1..at - 1].iter().collect())
        } else {
            let met = SYMBOLS.iter().find(|s| chars[at..].iter().copied().take(s.len()).eq(s.chars()));
            let Some(symbol) = met else {
                return fail(
                    at,
                    format!("`{c}` means nothing here; put unusual column names into `backticks`"),
                );
            };
            at += symbol.len();
            Token::Symbol(symbol)
        };
        found.push((token, start));
    }
    found.push((Token::End, chars.len()));
    Ok(found)
}

/// Characters of the number that starts here: digits, a point, an exponent.
fn number_length(chars: &[char]) -> usize {
    let digits = |from: usize| chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut length = digits(0);
    if chars.get(length) == Some(&'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(chars.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.get(length + 1), Some('+' | '-')));
        let exponent = digits((length + 1 + sign).min(chars.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
