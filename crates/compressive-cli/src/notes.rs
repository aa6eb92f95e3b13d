//! Remarks that stay one line, however many columns they are about.

use compressive::{Column, Reading};
use compressive_io::LeftOut;

use crate::output::{count, thousands};

/// Items of a list that a remark names; the rest is counted.
const NAMED: usize = 6;

/// A list in words, the end of a long one as a number.
pub fn few(items: &[String]) -> String {
    // Counting a single item would take as much room as naming it.
    if items.len() <= NAMED + 1 {
        return items.join(", ");
    }
    let more = thousands((items.len() - NAMED) as u64);
    format!("{}, ... ({more} more)", items[..NAMED].join(", "))
}

/// One remark for each reason for which columns were left out unasked, with `advice` at its end.
pub fn left_out(columns: &[LeftOut], advice: &str) -> Vec<String> {
    let unasked: Vec<&LeftOut> = columns.iter().filter(|left| !left.asked).collect();
    let mut groups: Vec<&str> = Vec::new();
    for left in &unasked {
        if !groups.contains(&left.group) {
            groups.push(left.group);
        }
    }
    let remark = |group: &str| {
        let alike: Vec<&LeftOut> = unasked.iter().copied().filter(|left| left.group == group).collect();
        if let [one] = alike[..] {
            return format!("left out column `{}`: {}{advice}", one.name, one.reason);
        }
        let names: Vec<String> = alike.iter().map(|left| format!("`{}`", left.name)).collect();
        format!("left out {} {group}: {}{advice}", thousands(alike.len() as u64), few(&names))
    };
    groups.into_iter().map(remark).collect()
}

/// What columns other than plain numbers are read as: one remark for each kind.
pub fn readings(columns: &[Column]) -> Vec<String> {
    let of = |name: &dyn Fn(&Column) -> Option<String>| -> Vec<String> {
        columns.iter().filter_map(name).collect()
    };
    let categories = of(&|c| match &c.reading {
        Reading::Category { levels, other } => {
            let other = if *other { " and others" } else { "" };
            Some(format!("`{}` ({}{other})", c.column, count(levels.len() as u64, "level")))
        }
        _ => None,
    });
    let times = of(&|c| matches!(c.reading, Reading::Time { .. }).then(|| format!("`{}`", c.column)));
    let circles = of(&|c| (!c.reading.periods().is_empty()).then(|| format!("`{}`", c.column)));
    let vectors = of(&|c| match c.reading {
        Reading::Vector { length } => Some(format!("`{}` ({})", c.column, count(length as u64, "number"))),
        _ => None,
    });
    let remarks = [
        ("read as categories", categories),
        ("read as seconds since 1970", times.into_iter().filter(|name| !circles.contains(name)).collect()),
        ("read as places on circles", circles),
        ("read as vectors", vectors),
    ];
    let said = remarks.into_iter().filter(|(_, names)| !names.is_empty());
    said.map(|(what, names)| format!("{what}: {}", few(&names))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, group: &'static str, asked: bool) -> LeftOut {
        LeftOut { name: name.into(), reason: format!("why {name}"), group, asked }
    }

    #[test]
    fn each_reason_takes_one_line_and_long_lists_end_in_a_count() {
        let mut columns: Vec<LeftOut> =
            (0..1206).map(|i| column(&format!("t{i}"), "text columns", false)).collect();
        columns.insert(1, column("year", "constant columns", false));
        columns.push(column("mine", "text columns", true));
        let expected = [
            "left out 1,206 text columns: `t0`, `t1`, `t2`, `t3`, `t4`, `t5`, ... (1,200 more); use",
            "left out column `year`: why year; use",
        ];
        assert_eq!(left_out(&columns, "; use"), expected);
    }

    #[test]
    fn a_list_of_one_more_than_is_named_is_named_whole() {
        let items: Vec<String> = (0..8).map(|i| i.to_string()).collect();
        assert_eq!(few(&items[..7]), "0, 1, 2, 3, 4, 5, 6");
        assert_eq!(few(&items), "0, 1, 2, 3, 4, 5, ... (2 more)");
    }
}
