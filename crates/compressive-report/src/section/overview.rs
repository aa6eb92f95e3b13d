//! What there is, in one glance.

use compressive::privacy::AnySketch;

use crate::html::{facts, section as part};
use crate::page::View;
use crate::text::named;
use crate::words::{bytes, count, number, outline, recipe, thousands};
use crate::{promise, text};

/// Rows, columns, size, recipe and model.
pub fn section(view: &View<'_>) -> String {
    let material = view.material;
    let (total, spec) = (material.total, material.total.spec());
    let rows = match total {
        AnySketch::Plain(sketch) => thousands(sketch.rows()),
        AnySketch::Private(sketch) => promise::row_count(sketch),
    };
    let raw = view.moments.rows * spec.dim() as f64 * 8.0;
    let mut all = vec![
        ("rows", rows),
        ("columns", thousands(spec.dim() as u64)),
        (
            "sketch",
            format!(
                "{} ({}), {} of the rows as 8-byte numbers",
                bytes(material.bytes as u64),
                count(spec.sketch_len() as u64, "sum"),
                share(material.bytes as f64 / raw)
            ),
        ),
        ("recipe", recipe(spec)),
        ("fingerprint", spec.fingerprint()),
    ];
    if let Some(remembered) = &spec.outline {
        all.insert(all.len() - 1, ("outline", outline(remembered)));
    }
    if let AnySketch::Private(_) = total {
        all.insert(1, ("private", "yes: noise was added, see the promise below".into()));
    }
    if let Some(model) = material.model {
        all.push(("model", named(model)));
        if let Some(origin) = &model.origin {
            all.push(("decoder", format!("{}, seed {}", origin.decoder, origin.seed)));
        }
        let quality = text::quality(model, view.material.vocabulary);
        if !quality.is_empty() {
            all.push(("fit", quality.trim_end().replace('\n', "; ")));
        }
        let other = model.origin.as_ref().is_none_or(|origin| {
            origin.rows as f64 != view.moments.rows || origin.fingerprint != spec.fingerprint()
        });
        if let Some(here) = view.explanation.as_ref().filter(|_| other) {
            all.push(("fit here", text::misfit(here.misfit).trim_end().replace('\n', "; ")));
        }
    }
    let all: Vec<(String, String)> = all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    part("overview", "What this is", &facts(&all))
}

/// A share as a person would say it.
fn share(part: f64) -> String {
    if part < 0.01 {
        format!("1/{}", thousands((1.0 / part.max(1e-12)).round() as u64))
    } else {
        format!("{}%", number((1000.0 * part).round() / 10.0))
    }
}
