//! What the release promises.

use compressive::Command;
use compressive::privacy::AnySketch;

use crate::html::{escape, section as part};
use crate::page::View;
use crate::promise;

/// The promise of each holder; for a plain sketch, that there is none.
pub fn section(view: &View<'_>) -> String {
    let body = match view.material.total {
        AnySketch::Plain(_) => {
            let how = view.material.vocabulary.run(Command::Privatize).map_or_else(String::new, |how| {
                format!(" Release it to others with <code>{}</code>.", escape(how.trim_matches('`')))
            });
            format!(
                "<p>This is a plain sketch: exact sums, without noise. It holds no row, yet someone who knows all rows but one could work out that one.{how}</p>\n"
            )
        }
        AnySketch::Private(sketch) => {
            let releases = sketch.releases();
            let promises = releases.iter().enumerate().map(|(i, release)| {
                let holder = if releases.len() > 1 {
                    format!("<h3>Holder {} of {}</h3>\n", i + 1, releases.len())
                } else {
                    String::new()
                };
                format!("{holder}<pre>{}</pre>\n", escape(&promise::describe(release)))
            });
            format!(
                "{}<p>On the mean: standard deviation {}.</p>\n",
                promises.collect::<String>(),
                escape(&promise::mean_noise(sketch))
            )
        }
    };
    part("privacy", "Privacy", &body)
}
