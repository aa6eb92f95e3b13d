//! Audio events by alpha features: accuracy against the bits of a contribution, on generated clips.

use compressive::design::{Request, Task};

use crate::error::Result;
use crate::experiment::bits::{Curves, Values, features};
use crate::experiment::draws::{self, mean};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::simulate::sounds::{CLASSES, Clips, DIM};
use compressive_data::Mixture;
use compressive_data::Rows;
use compressive_data::{EmParams, Rng, em};

/// \[Sch21\] figure 4.10.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "sounds",
    title: "Audio events by alpha features: accuracy against the bits of a contribution",
    reference: "[Sch21] section 4.5.7 and figure 4.10 (ESC-50, K = 32, d = 10; no numbers are printed beside the curves); generated sounds here",
    work: run,
};

/// Components of the mixture, and fewer in a quick run.
const K: (usize, usize) = (12, 6);
/// Points of accuracy below EM that count as its performance.
const NEAR: f64 = 3.0;
/// Times fewer bits for one-bit contributions, as published.
const TIMES: f64 = 30.0;

/// Why what falls short does.
const WHY: &str = "Even at the largest m accuracies stay three to four points below EM, and below that they rise and fall with m and between sets of clips. Why is not known; no mixture of so few Gaussians explains these frames.";

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let (clips, k) = options.pick((60, K.0), (16, K.1));
    let ratios: &[f64] = options.pick(&[0.1, 0.2, 0.5, 1.0, 2.0, 5.0], &[8.0]);
    let draws = options.draws(5, 1);
    let outcomes =
        draws::map(draws, options.threads, "clips", progress, |draw| one_draw((clips, k), ratios, draw))?;
    let direct = mean(&outcomes.iter().map(|(_, em)| *em).collect::<Vec<_>>());
    let point = |at: usize| {
        let middle = |feature: usize, decoder: usize| {
            mean(&outcomes.iter().map(|(values, _)| values[at][feature][decoder]).collect::<Vec<_>>())
        };
        (size(k, ratios[at]), [0, 1].map(|feature| [0, 1].map(|decoder| middle(feature, decoder))))
    };
    let curves = Curves {
        what: "accuracy",
        digits: 1,
        decoders: ["cl-ompr", "auto"],
        points: (0..ratios.len()).map(point).collect(),
    };
    let mut judged = Curves::judged("Bits of a contribution");
    let wanted = format!("accuracy within {NEAR} points of EM");
    curves.judge(&mut judged, &wanted, &|accuracy| accuracy >= direct - NEAR, TIMES);
    let mut largest =
        Table::new("At the largest m", &["EM on all frames, %", "Fourier, `auto`, %", "one-bit, `auto`, %"]);
    if let Some((_, [[_, fourier], [_, one_bit]])) = curves.points.last() {
        let met = fourier.min(*one_bit) >= direct - NEAR;
        let cells = [direct, *fourier, *one_bit].map(|accuracy| Cell::number("accuracy", accuracy, 1));
        largest.push(cells.into(), Some(Verdict::bar(met, format!("competitive: both {wanted}"))));
    }
    let tables = vec![curves.table("Mean accuracy, %".into()), judged, largest];
    let title = "Accuracy of alpha features against the bits of a contribution";
    let figures =
        vec![curves.figure("sounds.png", title, Some(("EM, all frames", direct)), &|a| a, "accuracy, %")?];
    Ok(Report { text: text(clips, k, draws), tables, figures, ..Report::default() }.explain("", WHY))
}

fn text(clips: usize, k: usize, draws: usize) -> Vec<String> {
    vec![
        format!(
            "{clips} generated clips of a second for each of {} kinds of sound, each with its own pitch, loudness and background noise; {draws} sets of clips (the thesis: ESC-50, 2500 recordings of 50 classes). Every frame becomes {DIM} mel-frequency cepstral \
             coefficients; a mixture of K = {k} diagonal Gaussians (the thesis: 32) is learned from the frames of all clips, and a clip's alpha features are the mean probabilities of its frames under the components. Half of the clips classify the other half \
             by the nearest class mean of the square roots of the features (the thesis: a support vector machine). Chance is {:.1}%.",
            CLASSES.len(),
            100.0 / CLASSES.len() as f64
        ),
        format!(
            "A contribution has 128m bits with Fourier features, as the thesis counts (two doubles a frequency), and 2m with one-bit features. `cl-ompr` has one start an atom, as published; `auto` makes two searches; EM is the best of three on all frames. The \
             thesis states a bitrate lower by a factor of at least {TIMES:.0} for the same performance, and that both are competitive with EM if m is large enough. Its accuracies are on other data and cannot be compared."
        ),
    ]
}

fn size(k: usize, ratio: f64) -> usize {
    ((ratio * Task::Gmm.parameters(k, DIM) as f64).round() as usize).max(k)
}

/// Accuracies in percent at every size, and of EM.
fn one_draw((clips, k): (usize, usize), ratios: &[f64], draw: u64) -> Result<(Vec<Values>, f64)> {
    let clips = Clips::generate(clips, &mut Rng::derived(16_000, draw));
    let rows = clips.rows();
    let percent = |mixture: &Mixture| -> Result<f64> {
        Ok(100.0 * clips.accuracy(&mixture.to_model(Clips::columns()))?)
    };
    let mut all = Vec::new();
    for &ratio in ratios {
        let mut values = Values::default();
        for (accuracies, feature) in values.iter_mut().zip(features()) {
            let params =
                Request::new(Task::Gmm, k).outline(false).size(size(k, ratio)).feature(feature).seed(draw);
            let found = fits::designed(&rows, DIM, &params)?.both_mixtures(k, 1)?;
            *accuracies = [percent(&found[0])?, percent(&found[1])?];
        }
        all.push(values);
    }
    let params = EmParams { n_init: 3, tolerance: 1e-6, threads: 1, seed: draw, ..EmParams::default() };
    Ok((all, percent(&em(Rows::new(&rows, DIM)?, k, &params)?.mixture)?))
}
