//! What the experiments on Nystrom sketches share: tables with their references, methods, and how good a fit
//! is.

use compressive::design::scale::ScaleRule;
use compressive::design::{LawChoice, Request, Task};
use compressive::learn::Decoder;
use compressive::{Feature, Wave};

use crate::error::Result;
use crate::experiment::{fits, images};
use compressive_data::Rows;
use compressive_data::metric::log_likelihood;
use compressive_data::{EmParams, KMeansParams, Rng, em, generate, kmeans, sse};

/// Clusters or components, in all problems.
pub(super) const K: usize = 10;
/// Columns of the synthetic problem, and its separation.
const SYNTHETIC: (usize, f64) = (10, 2.0);

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// Cosines and sines at as many frequencies as there are landmarks: twice as many sums.
    Fourier(LawChoice),
    /// The same with half of the frequencies: as many sums.
    HalfFourier(LawChoice),
    /// Kernel values at landmarks.
    Nystrom(LawChoice),
}

/// A table, and what k-means or expectation-maximisation on all its rows reaches.
pub(super) struct Problem {
    task: Task,
    values: Vec<f64>,
    dim: usize,
    /// The sum of squared errors for k-means, the mean log-likelihood for mixtures.
    reference: f64,
}

impl Problem {
    /// Ten unit Gaussians in ten columns at separation 2.
    pub fn synthetic(task: Task, n_rows: usize, draw: u64) -> Result<Problem> {
        let mut rng = Rng::derived(11_000, draw);
        let truth = generate::separated(K, SYNTHETIC.0, SYNTHETIC.1, &mut rng)?;
        Problem::new(task, truth.sample(n_rows, &mut rng)?.values, SYNTHETIC.0, 1)
    }

    /// A table of the experiment `images`.
    pub fn file(task: Task, name: &str, folder: Option<&std::path::Path>, threads: usize) -> Result<Problem> {
        let (values, dim) = images::read(&images::find(name, folder)?)?;
        Problem::new(task, values, dim, threads)
    }

    fn new(task: Task, values: Vec<f64>, dim: usize, threads: usize) -> Result<Problem> {
        let rows = Rows::new(&values, dim)?;
        let reference = match task {
            Task::Kmeans => {
                kmeans(rows, K, &KMeansParams { n_init: 20, threads, ..KMeansParams::default() })?.sse
            }
            _ => {
                let params = EmParams { n_init: 5, threads, ..EmParams::default() };
                log_likelihood(rows, &em(rows, K, &params)?.mixture)?
            }
        };
        Ok(Problem { task, values, dim, reference })
    }

    /// Parameters of the task.
    pub fn parameters(&self) -> usize {
        self.task.parameters(K, self.dim)
    }

    /// How much worse than on all rows a model from a sketch of m landmarks or frequencies is: the relative
    /// SSE, or the loss of mean log-likelihood per row. `width` is that of the kernel or of the law, in
    /// estimated cluster widths.
    pub fn loss(&self, method: Method, width: f64, size: usize, seed: u64) -> Result<f64> {
        // A quantised feature has the estimate itself as its scale.
        let probe = Request::new(self.task, K).outline(false).size(1).feature(Wave::OneBit).seed(seed);
        let unit = fits::spec(&self.values, self.dim, &probe)?.scale;
        let (feature, law, size) = match method {
            Method::Fourier(law) => (Wave::Fourier.into(), law, size),
            Method::HalfFourier(law) => (Wave::Fourier.into(), law, size.div_ceil(2)),
            Method::Nystrom(rule) => (Feature::Nystrom, rule, size),
        };
        let scale = ScaleRule::Fixed(width * unit);
        let params = probe.feature(feature).law(law).size(size).scale(scale);
        let sketched = fits::designed(&self.values, self.dim, &params)?;
        let rows = Rows::new(&self.values, self.dim)?;
        match self.task {
            Task::Kmeans => Ok(sse(rows, &sketched.centers(K, Decoder::Auto, 1)?)? / self.reference),
            _ => Ok(self.reference - log_likelihood(rows, &sketched.mixture(K, Decoder::Auto, 1)?)?),
        }
    }
}
