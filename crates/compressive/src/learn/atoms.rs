//! The search for atoms that k-means, k-medians and mixtures share.

use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::{Fit, Problem};
use crate::density::{Density, Target};
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::learn::laid::Laid;
use crate::learn::misfit::misfit;
use crate::learn::propose::auto::{AutoParams, auto, auto_near};
use crate::learn::propose::{Decoder, Finds, Published, Wanted};
use crate::learn::refine::Shares;
use crate::learn::{
    Candidate, Components, LearnParams, Learned, choose_k, judge, on_density, weighted_landmarks,
};
use crate::model::{Content, DecodeInfo, Explained, Misfit, Model, Origin, Stop, Working};
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::SketchOperator;

/// Atoms of a family, before they are brought to the user's units.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub family: Gaussian,
    pub fit: Fit,
    pub info: DecodeInfo,
    /// The cost relative to what a right model leaves.
    pub misfit: Misfit,
    /// $\chi^2$ of the polish and its expectation, if there was one.
    pub chi_square: Option<(f64, f64)>,
    /// What the number of components is chosen by, see [`Candidate::score`].
    pub score: Option<f64>,
    /// k-means of the density, in working coordinates, if that is what these atoms come from.
    pub centres: Option<on_density::Centres>,
}

impl Decoded {
    /// The same, from these centres of a density.
    fn with_centres(self, centres: on_density::Centres) -> Decoded {
        Decoded { centres: Some(centres), ..self }
    }
}

/// What was found behind a sketch, the heaviest atom first.
pub(super) struct Found<'a> {
    pub operator: &'a SketchOperator,
    pub target: Target,
    pub params: &'a LearnParams,
    pub decoded: Decoded,
    candidates: Vec<Candidate>,
    /// The density behind the sketch, where its recipe has an outline and the search is `auto`.
    pub density: Option<Density>,
    /// The part by which the loss may exceed the best, where the density tells.
    pub excess: Option<f64>,
    /// Share of each atom, and its location in the user's units.
    pub weights: Vec<f64>,
    pub locations: Vec<Vec<f64>>,
    /// The atoms' places in `decoded`.
    order: Vec<usize>,
}

impl<'a> Found<'a> {
    /// Searches atoms of a shape; none for centres, whose shape does not matter.
    pub fn search(
        operator: &'a SketchOperator,
        target: Target,
        shape: Option<&Shape>,
        params: &'a LearnParams,
    ) -> Result<Found<'a>> {
        let k = params.k;
        check_data(&target, k)?;
        let density = match params.decoder {
            Decoder::Auto => Density::new(&target),
            _ => None,
        };
        let decode = |k: usize| match &density {
            Some(density) if density.n_places() >= k => from_density(&target, density, k, shape, params),
            _ => decode(operator, &target, k, shape, params),
        };
        let (mut decoded, candidates) = match k {
            Components::Exactly(k) => {
                let decoded = decode(k)?;
                let candidate = Candidate::of(k, &decoded);
                (decoded, vec![candidate])
            }
            Components::Between(low, high) if density.is_some() => {
                choose_k::choose_by_score((low, high), target.rows, shape.is_none(), &mut |k| decode(k))?
            }
            Components::Between(low, high) => choose_k::choose(low, high, &mut |k| decode(k))?,
        };
        fill_empty(&target, &mut decoded, params.seed);
        let working = Working::new(&operator.spec().transform)?;
        let (family, fit) = (&decoded.family, &decoded.fit);
        let all = fit.normalised_weights();
        let mut order: Vec<usize> = (0..fit.k()).collect();
        order.sort_by(|&a, &b| all[b].total_cmp(&all[a]));
        let location = |&l: &usize| working.location(&fit.atoms[l * family.n_params()..][..family.dim()]);
        let locations = order.iter().map(location).collect();
        let weights = order.iter().map(|&l| all[l]).collect();
        Ok(Found {
            operator,
            target,
            params,
            decoded,
            candidates,
            density,
            excess: None,
            weights,
            locations,
            order,
        })
    }

    /// Covariance of each atom in working coordinates.
    pub fn covariances(&self) -> Vec<Vec<f64>> {
        let (family, fit) = (&self.decoded.family, &self.decoded.fit);
        let atom = |l: usize| &fit.atoms[l * family.n_params()..(l + 1) * family.n_params()];
        self.order.iter().map(|&l| family.covariance_of(atom(l), &fit.shared)).collect()
    }

    /// Centres of the density by an algorithm, k-means if none is given, in the user's units, with their
    /// shares; none without a density. Distances are taken with columns divided by their spreads in the spec.
    pub fn centres_of_density(&self, run: Option<on_density::Clusters>) -> Result<Option<Shares>> {
        let Some(density) = &self.density else { return Ok(None) };
        let transform = &self.operator.spec().transform;
        let working = Working::new(transform)?;
        let d = self.target.dim();
        let metric = |u: &[f64]| -> Vec<f64> {
            working.location(u).iter().zip(&transform.spread).map(|(x, s)| x / s).collect()
        };
        let whitened = transform.whiten.is_some();
        let metric: on_density::ToMetric<'_> = if whitened { Some(&metric) } else { None };
        let found = match &self.decoded.centres {
            Some(found) if run.is_none() && !whitened => Some(found.clone()),
            _ => run.unwrap_or(on_density::kmeans)(density, self.decoded.fit.k(), self.params.seed, metric),
        };
        // Atoms that explain the sketch are closer to the centres of all rows than the density's own.
        let (family, fit) = (&self.decoded.family, &self.decoded.fit);
        let atoms: Vec<f64> =
            fit.atoms.chunks_exact(family.n_params()).flat_map(|a| &a[..d]).copied().collect();
        if !whitened
            && self.decoded.misfit.explained() == Explained::Yes
            && found.as_ref().is_some_and(|found| found.cost_of(&atoms) < (1.0 + EQUAL) * found.cost)
        {
            return Ok(None);
        }
        let located = |c: &[f64]| -> Vec<f64> {
            match whitened {
                true => c.iter().zip(&transform.spread).map(|(x, s)| x * s).collect(),
                false => working.location(c),
            }
        };
        Ok(found.map(|found| (found.centres.chunks_exact(d).map(located).collect(), found.shares)))
    }

    /// States by how much the sum of squares of the centres may exceed the best, where the density tells.
    pub fn promise(&mut self) {
        let transform = &self.operator.spec().transform;
        let density = self.density.as_ref().filter(|density| density.n_places() >= self.locations.len());
        let known = transform.whiten.is_none() && !self.params.budget.was_cut();
        if let Some(density) = density.filter(|_| known) {
            let centres: Vec<f64> = self.locations.iter().flat_map(|x| transform.apply(x)).collect();
            self.excess = Some(judge::excess(density, &centres, self.params.seed));
        }
    }

    /// Takes other centres with their shares, the heaviest first.
    pub fn move_to(&mut self, (centres, shares): Shares) {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        self.locations = order.iter().map(|&l| centres[l].clone()).collect();
        self.weights = order.iter().map(|&l| shares[l]).collect();
    }

    /// The model of a content, with the misfit that it has under the sketch.
    pub fn to_model(&self, content: Content, covariance: &str) -> Result<Learned> {
        let (operator, params, info) = (self.operator, self.params, &self.decoded.info);
        let misfit = self.decoded.misfit;
        let origin =
            origin(operator, self.target.rows, (params.decoder, params.seed), covariance, (misfit, info));
        let mut model = model(operator, content, self.decoded.fit.k(), origin);
        model.validate()?;
        let misfit = Laid::new(operator, &self.target, &model)?.misfit().with_excess(self.excess);
        let mut candidates = self.candidates.clone();
        candidates.iter_mut().filter(|c| c.k == model.k).for_each(|c| c.misfit = misfit);
        model.origin.iter_mut().for_each(|origin| origin.misfit = misfit);
        Ok(Learned { model, candidates })
    }
}

/// How a model came about.
pub(super) fn origin(
    operator: &SketchOperator,
    rows: f64,
    (decoder, seed): (Decoder, u64),
    covariance: &str,
    (misfit, info): (Misfit, &DecodeInfo),
) -> Origin {
    Origin {
        fingerprint: operator.fingerprint().into(),
        rows: rows as u64,
        decoder: decoder.name().into(),
        covariance: covariance.into(),
        seed,
        misfit,
        info: info.clone(),
    }
}

/// What was learned, with the sketch's columns.
pub(super) fn model(operator: &SketchOperator, content: Content, k: usize, origin: Origin) -> Model {
    Model { origin: Some(origin), ..Model::of_spec(content, k, operator.spec()) }
}

/// Atoms of a density: its mixture, or for centres its k-means, to be placed in the metric of the task.
fn from_density(
    target: &Target,
    density: &Density,
    k: usize,
    shape: Option<&Shape>,
    params: &LearnParams,
) -> Result<Decoded> {
    target.check_components(k)?;
    let few = || Error::Task {
        field: "k",
        problem: format!("{k} components are more than the recipe's outline can tell apart; ask for fewer"),
    };
    let Some(shape) = shape else {
        let found = on_density::kmeans(density, k, params.seed, None).ok_or_else(few)?;
        let score = Some(found.silhouette).filter(|_| k > 1);
        return Ok(Decoded { score, ..centres_of(target, density, &found) }.with_centres(found));
    };
    let found = on_density::mixture(density, k, shape, params.seed).ok_or_else(few)?;
    let family = target.points.with_covariance(shape.clone());
    let fit = on_density::fit_of(&found.mixture, &family).ok_or_else(few)?;
    let parameters = (k * (1 + family.n_params()) - 1) as f64;
    let score = Some(parameters * target.rows.ln() / target.rows - 2.0 * found.likelihood);
    let own = Decoded { score, ..judged(target, family.clone(), fit) };
    if own.misfit.value() > polished_up_to(target) || target.rows < ROWS_PER_PARAMETER * parameters {
        return Ok(own);
    }
    // A descent tells for little whether the sketch can be explained at all.
    let clean = target.without_harmonics(&family, &own.fit);
    let mut near = own.fit.clone();
    Problem::new(&clean, &family).settle(&mut near);
    if judged(target, family, near.clone()).misfit.value() > NEARLY {
        return Ok(own);
    }
    let settings = AutoParams {
        k,
        mixture: true,
        shape: shape.clone(),
        threads: params.threads,
        seed: params.seed,
        ..AutoParams::default()
    };
    let polished = auto_near(&clean, near, &settings)?;
    let likelihood = found.cloud_likelihood(&polished.family, &polished.fit);
    let lost = likelihood.map_or(f64::INFINITY, |likelihood| found.likelihood - likelihood);
    let explains = polished.misfit.explained() != Explained::No;
    Ok(if lost < 0.0 || (explains && lost < TOLERATED) { Decoded { score, ..polished } } else { own })
}

/// Rows for each parameter below which a mixture is not polished, as the polish knows no prior, and below
/// which explaining the sketch does not tell how many components there are.
pub(super) const ROWS_PER_PARAMETER: f64 = 10.0;
/// Misfit after a descent above which the sketch will not be explained.
const NEARLY: f64 = 5.0;
/// The least of [`polished_up_to`].
const POLISHED: f64 = 30.0;
/// Nats a row that a mixture which explains the sketch may lose under the density, whose cells are Gaussian
/// only nearly.
const TOLERATED: f64 = 0.05;

/// Atoms at centres: each with variances of its own, moved to where they match the sketch best, if they then
/// explain it; else of one width, where they are.
fn centres_of(target: &Target, density: &Density, found: &on_density::Centres) -> Decoded {
    let plain = || {
        let family = target.points.with_covariance(Shape::SharedWidth);
        let (least, most) = family.variance_range();
        let shared = vec![(found.cost / target.dim() as f64).clamp(least, most)];
        let fit = Fit { atoms: found.centres.clone(), shared, weights: found.shares.clone() };
        judged(target, family, fit)
    };
    let family = target.points.with_covariance(Shape::Diagonal);
    if target.entries() < 2 * found.shares.len() * (1 + family.n_params()) {
        return plain();
    }
    let mut fit = on_density::shapes_of(density, found, &family);
    let start = judged(target, family.clone(), fit.clone());
    if start.misfit.value() > polished_up_to(target) {
        return plain();
    }
    let clean = target.without_harmonics(&family, &fit);
    Problem::new(&clean, &family).settle(&mut fit);
    let moved = judged(target, family, fit);
    if moved.misfit.explained() == Explained::Yes { moved } else { plain() }
}

/// Losses that differ by less than this part are the same to a density.
const EQUAL: f64 = 2e-3;

/// Misfit of a density's mixture above which the polish on the sketch has no chance to explain it: errors of
/// the density grow beside the sampling noise of many rows.
fn polished_up_to(target: &Target) -> f64 {
    POLISHED.max(1e-3 * target.rows)
}

/// A fit with its cost and misfit.
fn judged(target: &Target, family: Gaussian, fit: Fit) -> Decoded {
    let clean = target.without_harmonics(&family, &fit);
    let cost = Problem::new(&clean, &family).cost(&fit);
    let misfit = misfit(&clean, &family, &fit, cost);
    let info = DecodeInfo { iterations: 0, evaluations: 1, cost, stop: Stop::Converged };
    Decoded { family, fit, info, misfit, chi_square: None, score: None, centres: None }
}

/// Decodes for a given number of atoms, in boxes of several sizes if the range is wide: the lowest cost is
/// kept.
fn decode(
    operator: &SketchOperator,
    target: &Target,
    k: usize,
    shape: Option<&Shape>,
    params: &LearnParams,
) -> Result<Decoded> {
    target.check_components(k)?;
    let mut best: Option<Decoded> = None;
    for target in target.boxes() {
        let found = match params.decoder.finds() {
            Finds::Anything => automatic(&target, k, shape, params)?,
            Finds::Atoms(decoder) => published(operator, &target, k, shape, (decoder, params))?,
            Finds::Components(_) | Finds::Eigenvectors => {
                let name = params.decoder.name();
                return Err(Error::Task {
                    field: "decoder",
                    problem: format!(
                        "`{name}` finds principal components; for clusters and mixtures take auto, cl-ompr or \
                         another of the searches"
                    ),
                }
                .advise(Remedy::set(Parameter::Task, "pca"))
                .advise(Remedy::set(Parameter::Decoder, "auto")));
            }
        };
        if best.as_ref().is_none_or(|b| found.info.cost < b.info.cost) {
            best = Some(found);
        }
    }
    let Some(best) = best else { unreachable!("the whole box is one of them") };
    Ok(best)
}

/// `auto`, or for kernel values their weighted landmarks.
fn automatic(target: &Target, k: usize, shape: Option<&Shape>, params: &LearnParams) -> Result<Decoded> {
    let defaults = AutoParams::default();
    let settings = AutoParams {
        k,
        mixture: shape.is_some(),
        shape: shape.cloned().unwrap_or(defaults.shape),
        restarts: params.restarts.unwrap_or(defaults.restarts),
        threads: params.threads,
        seed: params.seed,
    };
    let from_landmarks = match settings.mixture {
        true => weighted_landmarks::decode_mixture(target, &settings)?,
        false => weighted_landmarks::decode(target, k, params.seed),
    };
    if let Some(decoded) = from_landmarks {
        return Ok(decoded);
    }
    let decoded = auto(target, &settings)?;
    // The search for mixtures, whose atoms have shapes of their own from the start, may find what was not
    // found.
    if !settings.mixture && decoded.misfit.is_lost() {
        let mixture = auto(target, &AutoParams { mixture: true, ..settings })?;
        if mixture.info.cost < decoded.info.cost {
            return Ok(mixture);
        }
    }
    Ok(decoded)
}

/// A published decoder with its own defaults.
fn published(
    operator: &SketchOperator,
    target: &Target,
    k: usize,
    shape: Option<&Shape>,
    (decoder, params): (Published, &LearnParams),
) -> Result<Decoded> {
    if decoder.needs_phases && target.points.kernel().is_some() {
        let name = params.decoder.name();
        return Err(Error::Task {
            field: "decoder",
            problem: format!(
                "{name} passes messages about phases, and a sketch of kernel values (nystrom) has none; take auto, cl-ompr or shift"
            ),
        });
    }
    let family = target.points.with_covariance(shape.cloned().unwrap_or(decoder.centres));
    let start = params.start.in_working(&operator.spec().transform);
    let LearnParams { restarts, starts, seed, .. } = *params;
    let wanted = Wanted { k, restarts, starts, start: &start, seed };
    let (fit, info) = (decoder.run)(target, &family, &wanted);
    let misfit = misfit(target, &family, &fit, info.cost);
    Ok(Decoded { family, fit, info, misfit, chi_square: None, score: None, centres: None })
}

/// Weight of a component, relative to 1/k, below which it is empty.
const EMPTY: f64 = 1e-6;

/// Replaces each empty atom by a half of the heaviest, moved apart at random within its width: users get the
/// number of components they asked for.
fn fill_empty(target: &Target, decoded: &mut Decoded, seed: u64) {
    let (family, fit) = (&decoded.family, &mut decoded.fit);
    let (d, p, k) = (family.dim(), family.n_params(), fit.k());
    let total: f64 = fit.weights.iter().sum();
    let mut stream = Stream::new(seed, Purpose::Decode, u64::MAX - 1);
    for empty in 0..k {
        if fit.weights[empty] > EMPTY * total / k as f64 {
            continue;
        }
        let heaviest = (0..k).max_by(|&a, &b| fit.weights[a].total_cmp(&fit.weights[b])).unwrap_or(0);
        let atom = fit.atoms[heaviest * p..(heaviest + 1) * p].to_vec();
        let sigma = family.covariance_of(&atom, &fit.shared);
        fit.atoms[empty * p..(empty + 1) * p].copy_from_slice(&atom);
        for c in 0..d {
            let width = sigma[c * d + c].sqrt().max(1e-3 * (target.high[c] - target.low[c]));
            let step = 0.5 * width * stream.normal();
            fit.atoms[empty * p + c] += step;
            fit.atoms[heaviest * p + c] -= step;
        }
        fit.weights[heaviest] *= 0.5;
        fit.weights[empty] = fit.weights[heaviest];
    }
}

/// Refuses a sketch of equal rows.
fn check_data(target: &Target, k: Components) -> Result<()> {
    let wanted = match k {
        Components::Exactly(k) => k,
        Components::Between(low, _) => low,
    };
    // The variance of a single row's features.
    if wanted > 1 && target.noise * target.rows < 1e-6 {
        return Err(Error::Task {
            field: "k",
            problem: format!(
                "all {} rows of the sketch are equal, so there is one component, not {wanted}",
                target.rows
            ),
        });
    }
    Ok(())
}
