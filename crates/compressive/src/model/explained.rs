//! How well a model explains a sketch: one number, and one rule that says what it means.
//!
//! The misfit is the mean square residual of a sketch's entry relative to what a right model leaves there. Of
//! a right model it is a mean of N squares near 1, with a standard deviation of about $\sqrt{2/N}$, so the
//! sketch speaks against a model whose misfit is above
//!
//! $$ 1 + \max\bigl(s,\; 4\sqrt{2/N}\bigr) $$
//!
//! with a slack s for what the estimate of "what a right model leaves" is off by itself: [`SLACK`], or
//! [`SLACK_KERNEL`] for sketches of kernel values. Every "is it explained?" of this project is
//! [`Misfit::explained`].

use serde::{Deserialize, Serialize};

use crate::names::named;

/// Least slack. Components that overlap, clusters that are almost Gaussian and centres moved to the lowest
/// SSE leave up to this much more; fits with a component too few were seen to leave several times the noise.
const SLACK: f64 = 0.5;
/// The same for kernel values, of which the noise is known more roughly: right models were seen to have
/// misfits up to 2.8 where the kernel is narrower than the clusters, wrong ones on real tables 7 and more.
const SLACK_KERNEL: f64 = 3.0;
/// Standard deviations of the mean square that chance is given: beyond them it comes up once in ten thousand
/// sketches.
const DEVIATIONS: f64 = 4.0;
/// Misfit above which clusters were not found, rather than badly described.
const LOST: f64 = 100.0;

/// Whether a model explains a sketch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explained {
    /// To within the noise of the sketch.
    Yes,
    /// The rows have structure beyond the model.
    No,
    /// The sketch speaks neither for nor against the model: it has no more entries than the model has
    /// parameters, or most of its noise was added on purpose.
    #[default]
    CannotTell,
}

named!(Explained, "an answer", { Yes => "yes", No => "no", CannotTell => "cannot-tell" });

/// The mean square residual of a sketch's entry relative to what a right model leaves, and what that says.
///
/// In files it is the number `misfit` with the answer `explained` beside it, which old files do not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misfit {
    #[serde(rename = "misfit")]
    value: f64,
    #[serde(default)]
    explained: Explained,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excess: Option<f64>,
}

/// What a misfit is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Real entries N of the sketch.
    pub entries: usize,
    /// Numbers that were fitted to them.
    pub parameters: usize,
    /// Whether the entries are kernel values.
    pub kernel: bool,
    /// Whether most of the noise was added on purpose.
    pub noisy: bool,
}

impl Misfit {
    /// A misfit, judged.
    pub(crate) fn new(value: f64, evidence: Evidence) -> Misfit {
        let Evidence { entries, parameters, kernel, noisy } = evidence;
        let slack = if kernel { SLACK_KERNEL } else { SLACK };
        let limit = 1.0 + slack.max(DEVIATIONS * (2.0 / entries as f64).sqrt());
        let explained = match value {
            value if !value.is_finite() || parameters >= entries => Explained::CannotTell,
            value if value > limit => Explained::No,
            // Added noise hides the difference between a right model and a nearly right one.
            _ if noisy => Explained::CannotTell,
            _ => Explained::Yes,
        };
        Misfit { value, explained, excess: None }
    }

    /// A number that the rule does not judge.
    pub(crate) fn unjudged(value: f64) -> Misfit {
        Misfit { value, explained: Explained::CannotTell, excess: None }
    }

    /// Near 1 or below if the model explains the sketch.
    pub fn value(self) -> f64 {
        self.value
    }

    /// What it says.
    pub fn explained(self) -> Explained {
        self.explained
    }

    /// The same, with the part by which the loss may exceed the best.
    pub(crate) fn with_excess(self, excess: Option<f64>) -> Misfit {
        Misfit { excess, ..self }
    }

    /// The part by which the sum of squares may exceed the best, as far as the sketch tells: 0.01 is one
    /// percent. Too small for about one model in ten; none where there is no density to tell by.
    pub fn excess(self) -> Option<f64> {
        self.excess
    }

    /// Whether clusters were not found, rather than badly described.
    pub(crate) fn is_lost(self) -> bool {
        self.value > LOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKETCH: Evidence = Evidence { entries: 1000, parameters: 50, kernel: false, noisy: false };

    fn answer(value: f64, evidence: Evidence) -> Explained {
        Misfit::new(value, evidence).explained()
    }

    #[test]
    fn a_right_model_is_allowed_its_slack_and_no_more() {
        assert_eq!(answer(0.6, SKETCH), Explained::Yes);
        assert_eq!(answer(1.49, SKETCH), Explained::Yes);
        assert_eq!(answer(1.51, SKETCH), Explained::No);
    }

    #[test]
    fn few_entries_scatter_more() {
        // 4 sqrt(2 / 32) = 1.
        let few = Evidence { entries: 32, parameters: 5, ..SKETCH };
        assert_eq!(answer(1.99, few), Explained::Yes);
        assert_eq!(answer(2.01, few), Explained::No);
    }

    #[test]
    fn the_noise_of_kernel_values_is_known_more_roughly() {
        let kernel = Evidence { kernel: true, ..SKETCH };
        assert_eq!(answer(3.9, kernel), Explained::Yes);
        assert_eq!(answer(4.1, kernel), Explained::No);
    }

    #[test]
    fn a_sketch_that_could_not_contradict_says_nothing() {
        assert_eq!(answer(1.0, Evidence { parameters: 1000, ..SKETCH }), Explained::CannotTell);
        assert_eq!(answer(f64::NAN, SKETCH), Explained::CannotTell);
        assert_eq!(answer(f64::INFINITY, SKETCH), Explained::CannotTell);
        let noisy = Evidence { noisy: true, ..SKETCH };
        assert_eq!(answer(1.0, noisy), Explained::CannotTell);
        // Structure that stands out of the added noise is there.
        assert_eq!(answer(9.0, noisy), Explained::No);
    }

    #[test]
    fn clusters_are_lost_far_above_what_is_badly_described() {
        assert!(Misfit::unjudged(101.0).is_lost() && !Misfit::unjudged(99.0).is_lost());
    }

    #[test]
    fn it_is_a_number_in_files_with_the_answer_beside_it() {
        let json = serde_json::to_string(&Misfit::new(1.25, SKETCH)).unwrap();
        assert_eq!(json, r#"{"misfit":1.25,"explained":"yes"}"#);
        let old: Misfit = serde_json::from_str(r#"{"misfit":1.25}"#).unwrap();
        assert_eq!((old.value(), old.explained()), (1.25, Explained::CannotTell));
    }
}
