//! How all this was made.

use compressive::Command;

use crate::columns::coordinates;
use crate::html::{details, escape, section as part, table};
use crate::page::View;
use crate::words::number;

/// The commands, and the columns as the recipe takes them.
pub fn section(view: &View<'_>) -> String {
    let spec = view.material.total.spec();
    let commands: Vec<String> = view.material.commands.iter().map(|c| escape(c)).collect();
    let table_columns = coordinates(&spec.table_columns());
    let heads = ["column", "centre", "spread", "low", "high"].map(String::from);
    let row = |c: usize| {
        let bound = |side: fn(&compressive::Bounds) -> &Vec<f64>| {
            spec.bounds.as_ref().map_or("-".into(), |b| table_columns[c].place(side(b)[c]))
        };
        vec![
            table_columns[c].name.clone(),
            table_columns[c].place(spec.transform.centre[c]),
            number(spec.transform.spread[c]),
            bound(|b| &b.low),
            bound(|b| &b.high),
        ]
    };
    let rows: Vec<Vec<String>> = (0..spec.dim()).map(row).collect();
    let columns =
        details("Columns, as the recipe takes them", &table("Columns of the sketch", &heads, &rows));
    let label = "The recipe as JSON";
    let recipe = format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\"><pre>{}</pre></div>\n",
        escape(&shortened(&spec.to_json_pretty(), view.material.vocabulary.run(Command::ShowSpec)))
    );
    part(
        "reproduce",
        "How to make it again",
        &format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Commands\"><pre>{}</pre></div>\n{columns}{}",
            commands.join("\n"),
            details(label, &recipe)
        ),
    )
}

/// Long recipes (landmarks, whitening matrices, tables) are cut.
fn shortened(json: &str, how_to_see_all: Option<String>) -> String {
    const MOST: usize = 6000;
    match json.char_indices().nth(MOST) {
        None => json.to_owned(),
        Some((at, _)) => {
            let how = how_to_see_all.map_or_else(String::new, |how| format!(": {how}"));
            format!("{}\n... (the rest is in the sketch{how})", &json[..at])
        }
    }
}
