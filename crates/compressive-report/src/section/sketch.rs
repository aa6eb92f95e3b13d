//! What the sketch sees: moduli against radii, and what the model leaves.

use compressive::Wave;

use crate::html::{figure, section as part};
use crate::page::View;
use crate::svg::Chart;
use crate::words::{count, number};

/// Entries drawn at most.
const POINTS: usize = 1500;

/// Two charts, for periodic features.
pub fn section(view: &View<'_>) -> String {
    let spec = view.material.total.spec();
    let Some(waves) = spec.map.waves() else { return String::new() };
    let radii = view.material.operator.radii();
    let step = radii.len().div_ceil(POINTS);
    let body = format!(
        "<div class=\"pair\">\n{}{}</div>\n",
        moduli(view, &waves.wave, &radii, step),
        residuals(view, &radii, step)
    );
    part("sketch", "What the sketch sees", &body)
}

/// |z| against the radius of its frequency, with the model's.
fn moduli(view: &View<'_>, wave: &Wave, radii: &[f64], step: usize) -> String {
    let gain = wave.gain();
    let moduli = view.material.total.spec().map.modulus(&view.moments.mean);
    let modulus = |j: usize| moduli[j] / gain;
    let entry = wave.variance() / view.moments.rows + view.moments.noise_std.powi(2);
    let noise = (entry * wave.blocks().len() as f64).sqrt() / gain;
    let most = radii.iter().copied().fold(0.0, f64::max);
    let mut chart = Chart::new((0.0, 1.02 * most), (0.0, 1.05));
    let entries = view.explanation.as_ref().map(|e| &e.entries).filter(|e| !e.is_empty());
    for j in (0..radii.len()).step_by(step) {
        let tip = format!("frequency {}: radius {}, |z| = {}", j + 1, number(radii[j]), number(modulus(j)));
        chart.point((radii[j], modulus(j)), 2.6, "mark c0", &tip);
        if let Some(entries) = entries {
            let tip = format!("frequency {}: the model has |z| = {}", j + 1, number(entries[j].predicted));
            chart.point((radii[j], entries[j].predicted), 1.6, "mark c1", &tip);
        }
    }
    chart.level(noise, "dotted", "noise");
    chart.frame("radius of the frequency", "|z|", None);
    let average = (0..radii.len()).map(modulus).sum::<f64>() / radii.len() as f64;
    let below = (0..radii.len()).filter(|&j| modulus(j) < 2.0 * noise).count() as f64 / radii.len() as f64;
    let alt = format!(
        "Modulus of {} against their radius: it is {} on average and falls from 1; {:.0}% of the entries are below twice the noise of {}.",
        count(radii.len() as u64, "sketch entry"),
        number(average),
        100.0 * below,
        number(noise)
    );
    let model = if entries.is_some() { " Small dots: the same by the model." } else { "" };
    let caption = format!(
        "Each dot is one frequency. |z| is 1 where all rows agree and falls to the noise where they differ at random; a good recipe covers the fall.{model} {:.0}% of the entries are below twice the noise.",
        100.0 * below
    );
    figure(&chart.finish("moduli-svg", &alt), &caption)
}

/// What the model leaves of each entry, in units of its noise.
fn residuals(view: &View<'_>, radii: &[f64], step: usize) -> String {
    let Some(explanation) = view.explanation.as_ref().filter(|e| !e.entries.is_empty()) else {
        return String::new();
    };
    let entries = &explanation.entries;
    let most = radii.iter().copied().fold(0.0, f64::max);
    let mut sorted: Vec<f64> = entries.iter().map(|e| e.residual).collect();
    sorted.sort_by(f64::total_cmp);
    let top = (1.1 * sorted[(sorted.len() - 1) * 99 / 100]).max(3.5);
    let mut chart = Chart::new((0.0, 1.02 * most), (0.0, top));
    for j in (0..radii.len()).step_by(step) {
        let tip = format!("frequency {}: {} times its noise", j + 1, number(entries[j].residual));
        let class = if entries[j].residual > 3.0 { "mark c3" } else { "mark c2" };
        chart.point((radii[j], entries[j].residual), 2.4, class, &tip);
    }
    chart.level(1.0, "dotted", "the noise of an entry");
    chart.frame("radius of the frequency", "|residual| / noise", None);
    let large = sorted.iter().filter(|r| **r > 3.0).count() as f64 / sorted.len() as f64;
    let summary = format!(
        "misfit {}, and {:.1}% of the entries are more than three times their noise away",
        number(explanation.misfit.value()),
        100.0 * large
    );
    let alt =
        format!("What the model leaves of each entry, in units of its noise, against the radius: {summary}.");
    let caption = format!(
        "What the model leaves of each entry, in units of its noise. A model that explains the sketch leaves dots around 1 at every radius; dots far above 1 show structure that it lacks: {summary}."
    );
    figure(&chart.finish("residuals-svg", &alt), &caption)
}
