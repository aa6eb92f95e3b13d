//! Models in words and tables.

use std::time::Duration;

use compressive::learn::Decoder;
use compressive::learn::{Candidate, Learned};
use compressive::model::{Classifier, Content, Covariances, Explained, Generator, Misfit, Model, Rule, Stop};
use compressive::{Map, Parameter, Remedy, SketchOperator, Vocabulary};

use crate::columns;
use crate::words::{count, number, seconds, thousands};

/// Components shown at most.
const COMPONENTS_SHOWN: usize = 20;
/// Columns shown at most.
const COLUMNS_SHOWN: usize = 8;

/// What was learned: how, the numbers of components tried, the components, and how well they explain the
/// sketch.
pub fn learned(
    operator: &SketchOperator,
    learned: &Learned,
    elapsed: Duration,
    vocabulary: &dyn Vocabulary,
) -> String {
    let model = &learned.model;
    let mut text = String::new();
    let origin = model.origin.as_ref();
    let rows = origin.map_or(0, |origin| origin.rows);
    text.push_str(&format!(
        "learned {} from the sketch of {} in {} (decoder {})\n",
        named(model),
        count(rows, "row"),
        seconds(elapsed),
        origin.map_or("unknown", |origin| &origin.decoder),
    ));
    if learned.candidates.len() > 1 {
        let criterion = match model.content {
            Content::Gmm { .. } => "BIC",
            _ => "silhouette",
        };
        text.push_str(&candidates(&learned.candidates, model.k, criterion));
    }
    text.push_str(&components(model));
    text.push_str(&quality(model, vocabulary));
    if origin.is_some_and(|origin| origin.info.stop == Stop::Cut) {
        text.push_str("the search was cut short: this is the best that was found by then\n");
    }
    if matches!(operator.spec().map, Map::Moments(_)) {
        text.push_str(&too_few_directions(model, operator.spec().size, vocabulary));
    }
    text
}

/// Directions for each k d below which components fit the sketch and are still wrong.
const DIRECTIONS: f64 = 1.5;

/// A warning about principal components that the sketch does not determine.
fn too_few_directions(model: &Model, size: usize, vocabulary: &dyn Vocabulary) -> String {
    let (d, full) = (model.dim(), model.dim() * (model.dim() + 1) / 2);
    let enough = ((DIRECTIONS * (model.k * d) as f64).ceil() as usize).min(full);
    if !matches!(model.content, Content::Pca { .. }) || size >= enough {
        return String::new();
    }
    let remedy = Remedy::sketch_with(Parameter::Size, 2 * model.k * d);
    format!(
        "careful: {size} directions do not determine {} of {d} columns, whatever the fit; ask for {} or {} or more\n",
        count(model.k as u64, "component"),
        (size as f64 / (DIRECTIONS * d as f64)).max(1.0) as usize,
        Remedy::words(&[remedy], vocabulary),
    )
}

/// `10 clusters`, `3 Gaussians with diag covariances`.
pub fn named(model: &Model) -> String {
    match &model.content {
        Content::Kmeans { .. } => count(model.k as u64, "cluster"),
        Content::Pca { .. } => count(model.k as u64, "principal component"),
        Content::Kmedians { .. } => format!("{} by k-medians", count(model.k as u64, "cluster")),
        Content::Stable { .. } => count(model.k as u64, "alpha-stable law"),
        Content::Generator(_) => "a generative network".into(),
        Content::Classify(c) => {
            format!("a classifier ({}) of {} classes", c.rule.name(), thousands(model.k as u64))
        }
        Content::Gmm { covariances, .. } => {
            let kind = match (&model.origin, covariances) {
                (Some(origin), _) => origin.covariance.as_str(),
                (None, Covariances::Diagonal(_)) => "diag",
                (None, Covariances::Full(_)) => "full",
            };
            format!("{} with {kind} covariances", count(model.k as u64, "Gaussian"))
        }
    }
}

/// The components as a table: weight, then location, then standard deviation (or scale, of stable laws) in
/// parentheses for a mixture.
pub fn components(model: &Model) -> String {
    match &model.content {
        Content::Pca { .. } => return principal(model),
        Content::Generator(generator) => return network(generator),
        _ => {}
    }
    if let Content::Classify(classifier) = &model.content {
        return classes(classifier);
    }
    let columns = columns::shown(model);
    let shown = columns.len().min(COLUMNS_SHOWN);
    let more = if columns.len() > shown { "  ..." } else { "" };
    let k = model.k.min(COMPONENTS_SHOWN);
    let mut table: Vec<Vec<String>> = vec![["".to_owned(), "weight".to_owned()].to_vec()];
    let alpha = match &model.content {
        Content::Stable { alpha, .. } => Some(alpha),
        _ => None,
    };
    table[0].extend(alpha.map(|_| "alpha".to_owned()));
    table[0].extend(columns[..shown].iter().map(|column| column.name().to_owned()));
    for l in 0..k {
        let mut row = vec![l.to_string(), format!("{:.2}%", 100.0 * model.weights()[l])];
        row.extend(alpha.map(|alpha| number(alpha[l])));
        row.extend(columns[..shown].iter().map(|column| column.cell(model, l)));
        table.push(row);
    }
    let mut text = aligned(&table, more);
    if model.k > k || columns.len() > shown {
        let what = format!("{} of {} components, {shown} of {} columns", k, model.k, columns.len());
        text.push_str(&format!("... ({what}; the model file has all)\n"));
    }
    text
}

/// The classes with their priors and, for mixtures, components.
fn classes(classifier: &Classifier) -> String {
    let mut table = vec![["class", "prior"].map(String::from).to_vec()];
    let mixtures = match &classifier.rule {
        Rule::Mixture { mixtures } => Some(mixtures),
        Rule::Correlation { .. } | Rule::Nearest { .. } | Rule::Centred { .. } => None,
    };
    table[0].extend(mixtures.map(|_| "components".to_owned()));
    let shown = classifier.classes.len().min(COMPONENTS_SHOWN);
    for k in 0..shown {
        let mut row = vec![classifier.classes[k].clone(), format!("{:.2}%", 100.0 * classifier.priors[k])];
        row.extend(mixtures.map(|all| all[k].weights.len().to_string()));
        table.push(row);
    }
    let mut text = aligned(&table, "");
    if classifier.classes.len() > shown {
        let all = classifier.classes.len();
        text.push_str(&format!("... ({shown} of {all} classes; the model file has all)\n"));
    }
    text
}

/// A table with its columns aligned to the right, and `more` at the end of each line.
fn aligned(table: &[Vec<String>], more: &str) -> String {
    let columns = table.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|c| table.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in table {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        text.push_str(&format!("{}{more}\n", cells.join("  ")));
    }
    text
}

/// Principal components as a table: variance, its share of the total, and the entries of the columns; then
/// what they explain together.
fn principal(model: &Model) -> String {
    let Content::Pca { components, explained_variance, total_variance, noise_variance, scale, .. } =
        &model.content
    else {
        return String::new();
    };
    let share = |variance: f64| 100.0 * variance / total_variance.max(f64::MIN_POSITIVE);
    let (k, shown) = (model.k.min(COMPONENTS_SHOWN), model.dim().min(COLUMNS_SHOWN));
    let more = if model.dim() > shown { "  ..." } else { "" };
    let mut table = vec![["", "variance", "share"].map(String::from).to_vec()];
    table[0].extend(model.shown_columns().into_iter().take(shown));
    for (l, (component, variance)) in components.iter().zip(explained_variance).enumerate().take(k) {
        let mut row = vec![format!("pc{}", l + 1), number(*variance), format!("{:.2}%", share(*variance))];
        row.extend(component[..shown].iter().map(|x| format!("{x:.3}")));
        table.push(row);
    }
    let mut text = aligned(&table, more);
    if model.k > k || model.dim() > shown {
        let what = format!("{k} of {} components, {shown} of {} columns", model.k, model.dim());
        text.push_str(&format!("... ({what}; the model file has all)\n"));
    }
    text.push_str(&format!(
        "{} {:.2}% of the variance {}; {} is left in each other direction\n",
        if model.k == 1 { "it explains" } else { "together they explain" },
        share(explained_variance.iter().sum()),
        number(*total_variance),
        number(*noise_variance),
    ));
    if scale.is_some() {
        text.push_str("columns were divided by their spreads first (`scale` in the model): components and variances are in these units\n");
    }
    text
}

/// How well the model explains the sketch.
pub fn quality(model: &Model, vocabulary: &dyn Vocabulary) -> String {
    let Some(origin) = &model.origin else { return String::new() };
    match model.content {
        Content::Pca { .. } if origin.decoder == Decoder::Eigen.name() => {
            "exact: the components of the rows themselves\n".into()
        }
        Content::Pca { .. } => {
            let residual = (origin.misfit.value() * 2.0 / origin.rows.max(1) as f64).sqrt();
            format!("the sketch is reproduced to within {:.2}%\n", 100.0 * residual)
        }
        Content::Generator(_) => format!(
            "misfit {}: the squared distance of the network's sketch from the data's, in units of the latter's sampling noise; more {} or wider {} may lower it\n",
            number(origin.misfit.value()),
            vocabulary.name(Parameter::Steps),
            vocabulary.name(Parameter::Layers),
        ),
        _ => misfit(origin.misfit),
    }
}

/// The layers of a generative network.
fn network(generator: &Generator) -> String {
    let widths: Vec<String> = generator.layers.iter().map(ToString::to_string).collect();
    format!("layers {}, {} weights\n", widths.join(" -> "), thousands(generator.weights.len() as u64))
}

/// A misfit, and what it says.
pub fn misfit(misfit: Misfit) -> String {
    let says = match misfit.explained() {
        Explained::Yes => "the model explains the sketch to within its sampling noise",
        Explained::No if misfit.excess().is_some() => {
            "the rows are not round clusters of these sizes, which the sum of squares does not ask of them"
        }
        Explained::No => {
            "the squared residual is that many times the sampling noise; the rows have structure beyond these components"
        }
        Explained::CannotTell => "the sketch cannot tell whether the model explains the rows",
    };
    let promise = misfit.excess().map_or(String::new(), |excess| {
        format!("sum of squares within {:.1}% of the best, as far as the sketch tells\n", 100.0 * excess)
    });
    format!("{promise}misfit {}: {says}\n", number(misfit.value()))
}

/// The objective against the number of components.
fn candidates(all: &[Candidate], chosen: usize, criterion: &str) -> String {
    let scored = all.iter().any(|candidate| candidate.score.is_some());
    let mut text = format!("{:>4}  {:>11}  {:>10}", "k", "objective", "misfit");
    text.push_str(&if scored { format!("  {criterion:>10}\n") } else { "\n".into() });
    for candidate in all {
        let best = format!("  <- the best {criterion}");
        let mark = match candidate.misfit.explained() {
            _ if candidate.k != chosen => "",
            Explained::No | Explained::CannotTell if scored => &best,
            Explained::Yes => "  <- the fewest that explain the sketch",
            Explained::CannotTell => "  <- the fewest that the sketch does not speak against",
            Explained::No if all.len() < 3 => "  <- the last tried; none explains the sketch",
            Explained::No => "  <- where the misfit stops falling fast; none explains the sketch",
        };
        let score = match candidate.score {
            Some(score) => format!("  {:>10}", number(score)),
            None if scored => format!("  {:>10}", ""),
            None => String::new(),
        };
        text.push_str(&format!(
            "{:>4}  {:>11}  {:>10}{score}{mark}\n",
            thousands(candidate.k as u64),
            number(candidate.cost),
            number(candidate.misfit.value()),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_long_models_are_cut_and_said_so() {
        let (k, d) = (30, 12);
        let content = Content::Kmeans { centers: vec![vec![1.5; d]; k], weights: vec![1.0 / k as f64; k] };
        let model = Model::new(content, k, (0..d).map(|c| format!("x{c}")).collect());
        let text = components(&model);
        assert_eq!(text.lines().count(), 1 + COMPONENTS_SHOWN + 1, "{text}");
        assert!(text.contains("20 of 30 components, 8 of 12 columns") && !text.contains("x8"), "{text}");
    }

    #[test]
    fn the_chosen_number_of_components_is_marked_with_the_reason() {
        let candidate = |k: usize, explained: &str| -> Candidate {
            let json = serde_json::json!({ "k": k, "cost": 1, "misfit": 2.5, "explained": explained });
            serde_json::from_value(json).expect("a candidate")
        };
        let text = candidates(&[candidate(1, "no"), candidate(2, "yes"), candidate(3, "yes")], 2, "BIC");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains("fewest")), "{text}");
        let text = candidates(&[candidate(1, "no"), candidate(2, "cannot-tell")], 2, "BIC");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains("does not speak against")), "{text}");
        let text = candidates(&[candidate(1, "no"), candidate(2, "no"), candidate(3, "no")], 2, "BIC");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains("none explains")), "{text}");
    }
}
