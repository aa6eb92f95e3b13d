//! Rows as JSON, read straight into one list of numbers: lists within a list would take twenty times the room
//! of their text.

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, de};

/// Most columns of a batch; each takes many times the room of its name.
const COLUMNS: usize = 1 << 16;

/// A batch as it was sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(deserialize_with = "names")]
    pub columns: Vec<String>,
    pub rows: Rows,
}

/// The values of all rows, one row after the other.
#[derive(Default)]
pub(super) struct Rows {
    pub values: Vec<f64>,
    pub number: usize,
    /// Values of a row.
    pub width: usize,
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rows, D::Error> {
        deserializer.deserialize_seq(AllRows)
    }
}

struct AllRows;

impl<'de> Visitor<'de> for AllRows {
    type Value = Rows;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Rows, A::Error> {
        let mut rows = Rows::default();
        while let Some(width) = list.next_element_seed(OneRow(&mut rows.values))? {
            rows.number += 1;
            if rows.number == 1 {
                rows.width = width;
            }
            if width != rows.width {
                let (number, first) = (rows.number, rows.width);
                return Err(A::Error::custom(format!(
                    "row {number} has {width} values, the first row {first}"
                )));
            }
        }
        Ok(rows)
    }
}

/// Appends a row, and tells how many values it has.
struct OneRow<'a>(&'a mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for OneRow<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for OneRow<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a row, a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let before = self.0.len();
        while let Some(value) = list.next_element()? {
            self.0.push(value);
        }
        Ok(self.0.len() - before)
    }
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    deserializer.deserialize_seq(Names)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut all = Vec::new();
        while let Some(name) = list.next_element()? {
            if all.len() == COLUMNS {
                return Err(de::Error::custom(format!("more than {COLUMNS} columns")));
            }
            all.push(name);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_one_list_and_uneven_ones_are_refused() {
        let table: Table =
            serde_json::from_str(r#"{"rows": [[1, 2.5], [3, 4]], "columns": ["a", "b"]}"#).unwrap();
        assert_eq!(
            (table.rows.values, table.rows.number, table.rows.width),
            (vec![1.0, 2.5, 3.0, 4.0], 2, 2)
        );
        let refused = |text: &str| serde_json::from_str::<Table>(text).err().unwrap().to_string();
        let uneven = refused(r#"{"columns": ["a"], "rows": [[1], [1, 2]]}"#);
        assert!(uneven.starts_with("row 2 has 2 values, the first row 1"), "{uneven}");
        let many = format!(r#"{{"columns": [""{}], "rows": []}}"#, r#", """#.repeat(COLUMNS));
        assert!(refused(&many).starts_with("more than 65536 columns"));
        for text in [
            r#"{"columns": [], "rows": [1]}"#,
            r#"{"columns": [], "rows": [], "more": 1}"#,
            r#"{"columns": ["a"], "rows": [[null]]}"#,
        ] {
            refused(text);
        }
    }
}
