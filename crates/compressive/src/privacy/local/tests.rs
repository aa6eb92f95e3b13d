use super::*;
use crate::privacy::SeededEntropy;
use crate::sketch::features::packed;
use crate::{FrequencyLaw, RowsRef, Scratch, SketchOperator, Waves};

fn spec(size: usize) -> SketchSpec {
    SketchSpec::new(["x", "y"], Waves::new(Wave::OneBit, FrequencyLaw::AdaptedRadius), 1.0, size)
}

fn bits(operator: &SketchOperator, rows: &[f64]) -> Vec<u8> {
    let (mut out, mut buffer) = (Vec::new(), Scratch::default());
    packed(operator, 2, RowsRef::F64(rows), &mut out, &mut buffer).unwrap();
    out
}

#[test]
fn the_probability_of_a_lie_keeps_the_promise_and_little_more() {
    for epsilon in [0.01, 0.3, 1.0, 2.0, 4.0, 7.5, 16.0, 32.0] {
        for entries in 1..=MAX_ENTRIES {
            let Ok(response) = LocalResponse::with_entries(&spec(50), epsilon, entries) else { continue };
            // The largest ratio of two probabilities of a word, from the integers that the program draws
            // with.
            let (lie, all) = (u128::from(response.lie()), 1u128 << 64);
            let others = u128::from((1u32 << entries) - 1);
            let ratio = ((all - lie) * others) as f64 / lie as f64;
            assert!(ratio.ln() <= epsilon + 1e-15, "{epsilon} {entries}: {}", ratio.ln());
            assert!(ratio.ln() > epsilon - 1e-5, "{epsilon} {entries}: {}", ratio.ln());
            let expected = gain(epsilon, entries);
            // The probability of a lie is larger by a part in 10^12, on purpose.
            assert!((response.gain() - expected).abs() < 3e-12, "{epsilon} {entries}");
        }
    }
}

#[test]
fn the_number_of_entries_is_that_of_the_least_noise() {
    let chosen = |epsilon: f64| LocalResponse::new(&spec(50), epsilon).unwrap().entries();
    assert_eq!([0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0].map(chosen), [1, 1, 2, 3, 4, 6, 8]);
    // One entry of a sketch of two.
    assert_eq!(LocalResponse::new(&spec(1), 8.0).unwrap().entries(), 2);
}

/// The larger of two frequencies over the smaller one, for the output that tells two readings apart best: at
/// most e^ε.
#[test]
fn an_audit_of_all_outputs_finds_the_claimed_budget_and_no_more() {
    // Four signs, two of them reported: 6 pairs of entries, 4 words each. The readings differ in all signs.
    let response = LocalResponse::with_entries(&spec(2), 2.0, 2).unwrap();
    let draws = 1_000_000;
    let histogram = |signs: u8, seed: u64| {
        let body = response.reports(&vec![signs; draws], &mut SeededEntropy::new(seed)).unwrap();
        let mut counts = std::collections::BTreeMap::<Vec<u8>, f64>::new();
        for report in body[HEAD..].chunks_exact(8) {
            *counts.entry(report.to_vec()).or_default() += 1.0;
        }
        counts
    };
    let (low, high) = (histogram(0b0000_0000, 1), histogram(0b1111_0000, 2));
    assert_eq!((low.len(), high.len()), (24, 24), "every output of one reading is one of the other");
    let ratios: Vec<f64> = low.iter().map(|(report, n)| (n / high[report]).ln().abs()).collect();
    let most = ratios.iter().copied().fold(0.0, f64::max);
    // The rarest outputs are seen 16,000 times: the logarithm of a ratio has a standard deviation of 0.009,
    // and the largest of 12 is beyond 2 + 0.045 once in 10^5 seeds.
    assert!(most < 2.045, "{most}");
    assert!(most > 1.97, "the budget is used: {most}");
}

#[test]
fn sums_of_reports_are_unbiased_and_as_noisy_as_they_say() {
    let operator = spec(20).build().unwrap();
    let row = bits(&operator, &[0.3, -0.7]);
    let truth = crate::sketch::features::unpack(&row, 40).unwrap();
    let n = 200_000;
    for epsilon in [1.0, 4.0] {
        let response = LocalResponse::new(operator.spec(), epsilon).unwrap();
        let body = response.reports(&row.repeat(n), &mut SeededEntropy::new(5)).unwrap();
        let sketch = LocalResponse::add_up(operator.spec(), &body).unwrap();
        assert_eq!(sketch.rows(), n as i64);
        let moments = sketch.moments();
        // All readings are equal, so the spread is that of the answers alone: the excess, and the 1 - z² = 0
        // that exact readings have.
        let errors: Vec<f64> = moments.mean.iter().zip(&truth).map(|(z, b)| z - f64::from(*b)).collect();
        let spread = (errors.iter().map(|e| e * e).sum::<f64>() / 40.0).sqrt();
        // Of 40 entries: a relative standard deviation of 0.11.
        assert!((spread / moments.noise_std - 1.0).abs() < 0.45, "{epsilon}: {spread} {}", moments.noise_std);
        let bias = errors.iter().zip(&truth).map(|(e, b)| e * f64::from(*b)).sum::<f64>() / 40.0;
        // The mean of 40 entries, five standard deviations.
        assert!(bias.abs() < 5.0 * moments.noise_std / 40f64.sqrt(), "{epsilon}: {bias}");
    }
}

#[test]
fn batches_of_reports_merge_exactly_in_any_order_into_one_promise() {
    let operator = spec(20).build().unwrap();
    let response = LocalResponse::new(operator.spec(), 4.0).unwrap();
    let row = bits(&operator, &[0.3, -0.7, 2.0, 1.0]);
    let body = response.reports(&row.repeat(50), &mut SeededEntropy::new(5)).unwrap();
    let whole = LocalResponse::add_up(operator.spec(), &body).unwrap();
    let cut = HEAD + 30 * response.report_len();
    let second = [&body[..HEAD], &body[cut..]].concat();
    let first = LocalResponse::add_up(operator.spec(), &body[..cut]).unwrap();
    let mut sum = LocalResponse::add_up(operator.spec(), &second).unwrap();
    sum.merge(&first).unwrap();
    assert_eq!(sum.to_bytes(), whole.to_bytes());
    assert_eq!(PrivateSketch::from_bytes(&sum.to_bytes()).unwrap(), whole);
    // Another budget stays apart.
    let other = LocalResponse::new(operator.spec(), 2.0).unwrap();
    let body = other.reports(&row, &mut SeededEntropy::new(5)).unwrap();
    sum.merge(&LocalResponse::add_up(operator.spec(), &body).unwrap()).unwrap();
    assert_eq!(sum.releases().len(), 2);
    assert_eq!(sum.rows(), 102);
}

#[test]
fn what_is_no_batch_of_reports_is_refused_by_name() {
    let operator = spec(20).build().unwrap();
    let response = LocalResponse::new(operator.spec(), 4.0).unwrap();
    let body = response.reports(&bits(&operator, &[0.3, -0.7]), &mut SeededEntropy::new(5)).unwrap();
    let refused = |body: &[u8]| LocalResponse::add_up(operator.spec(), body).unwrap_err().to_string();
    assert!(refused(b"").contains("CLR1"));
    assert!(refused(&body[..HEAD]).contains("0 bytes of reports"));
    assert!(refused(&body[..HEAD + 5]).contains("5 bytes of reports of 16 bytes"));
    let mut wrong = body.clone();
    wrong[HEAD + 4..HEAD + 8].copy_from_slice(&body[HEAD..HEAD + 4]);
    assert!(refused(&wrong).contains("out of order"));
    wrong[HEAD..HEAD + 4].copy_from_slice(&80u32.to_le_bytes());
    assert!(refused(&wrong).contains("entry 40"));
    let mut wrong = body.clone();
    wrong[4] = 17;
    assert!(refused(&wrong).contains("17 entries"));
    wrong[4] = 4;
    wrong[8..16].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(refused(&wrong).contains("NaN"));
    let fourier = SketchSpec::new(["x", "y"], FrequencyLaw::AdaptedRadius, 1.0, 20);
    assert!(LocalResponse::new(&fourier, 4.0).unwrap_err().to_string().contains("one-bit"));
    assert!(LocalResponse::new(operator.spec(), 0.0).unwrap_err().to_string().contains("between 0 and 32"));
}
