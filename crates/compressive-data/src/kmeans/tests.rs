use super::*;
use crate::generate;

fn overlapping(n_rows: usize) -> crate::rows::Sample {
    let truth = generate::separated(6, 3, 1.0, &mut Rng::new(8)).expect("valid");
    truth.sample(n_rows, &mut Rng::new(9)).expect("valid")
}

/// The least SSE over all assignments of a few rows to k centres, by trying each.
fn optimum(rows: Rows<'_>, k: usize) -> f64 {
    let (n, dim) = (rows.n_rows(), rows.dim());
    let partition_sse = |code: usize| {
        let label = |row: usize| code / k.pow(row as u32) % k;
        let mut total = 0.0;
        for cluster in 0..k {
            let members: Vec<usize> = (0..n).filter(|&row| label(row) == cluster).collect();
            for l in 0..dim {
                let mean =
                    members.iter().map(|&row| rows.row(row)[l]).sum::<f64>() / members.len().max(1) as f64;
                total += members.iter().map(|&row| (rows.row(row)[l] - mean).powi(2)).sum::<f64>();
            }
        }
        total
    };
    (0..k.pow(n as u32)).map(partition_sse).fold(f64::INFINITY, f64::min)
}

#[test]
fn small_problems_reach_the_optimum_of_all_partitions() {
    // The smallest basin of these problems catches 4% of the starts: 300 starts miss it with probability
    // 5e-6.
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let values: Vec<f64> = (0..18).map(|_| rng.normal()).collect();
        let rows = Rows::new(&values, 2).expect("nine rows");
        let fit = kmeans(rows, 3, &KMeansParams { n_init: 300, tolerance: 0.0, ..Default::default() })
            .expect("fit");
        assert!((fit.sse - optimum(rows, 3)).abs() < 1e-12, "seed {seed}: {} {}", fit.sse, optimum(rows, 3));
    }
}

#[test]
fn two_pairs_have_the_centres_between_them() {
    let rows = Rows::new(&[0.0, 1.0, 10.0, 11.0], 1).map(|rows| kmeans(rows, 2, &KMeansParams::default()));
    let mut fit = rows.expect("rows").expect("fit");
    assert_eq!(fit.sse, 1.0);
    assert!(
        fit.labels[0] == fit.labels[1] && fit.labels[2] == fit.labels[3] && fit.labels[0] != fit.labels[2]
    );
    fit.centers.sort_by(f64::total_cmp);
    assert_eq!(fit.centers, [0.5, 10.5]);
}

#[test]
fn the_sse_never_rises_and_is_that_of_the_returned_centres() {
    let sample = overlapping(5000);
    let rows = sample.rows().expect("rows");
    for seed in 0..5 {
        let params = KMeansParams { n_init: 1, tolerance: 0.0, seed, ..Default::default() };
        let fit = kmeans(rows, 8, &params).expect("fit");
        let history = &fit.info.sse_history;
        assert!(history.len() > 5 && fit.info.stop == Stop::Converged);
        assert!(history.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-14)), "{history:?}");
        assert_eq!(fit.sse, sse(rows, &fit.centers).expect("centres"));
        assert_eq!(fit.labels, assign(rows, &fit.centers).expect("centres"));
    }
}

#[test]
fn the_best_start_is_kept_whole() {
    let sample = overlapping(3000);
    let fit = kmeans(sample.rows().expect("rows"), 10, &KMeansParams::default()).expect("fit");
    let least = fit.info.sse_starts.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(fit.info.sse_starts.len(), 10);
    assert_eq!(fit.sse, least);
    assert!(fit.info.sse_starts.iter().any(|&sse| sse > 1.0001 * least), "the starts should differ");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let sample = overlapping(20_000);
    let rows = sample.rows().expect("rows");
    let fit =
        |threads| kmeans(rows, 6, &KMeansParams { threads, n_init: 2, ..Default::default() }).expect("fit");
    let alone = fit(1);
    assert_eq!(alone, fit(2));
    assert_eq!(alone, fit(5));
}

#[test]
fn centres_that_attract_nothing_are_moved_to_far_rows() {
    let sample = overlapping(2000);
    let rows = sample.rows().expect("rows");
    // All centres but the first lie far outside, so that the first pass leaves three of them empty.
    let start = [0.0, 0.0, 0.0, 1e3, 1e3, 1e3, 1e3, -1e3, 0.0, -1e3, 0.0, 1e3];
    let fit = lloyd(rows, &start, &KMeansParams::default()).expect("fit");
    assert_eq!(fit.info.relocated, 3);
    for center in 0..4 {
        assert!(fit.labels.iter().filter(|&&label| label == center).count() > 20);
    }
    assert!(fit.info.sse_history.windows(2).all(|pair| pair[1] <= pair[0]));
}

#[test]
fn fewer_distinct_rows_than_centres_end_with_sse_zero() {
    let values = [1.0, 1.0, 2.0, 2.0, 2.0, 1.0];
    let fit = kmeans(Rows::new(&values, 1).expect("rows"), 4, &KMeansParams::default()).expect("fit");
    assert_eq!((fit.sse, fit.info.stop), (0.0, Stop::Converged));
}

#[test]
fn a_large_offset_keeps_the_clusters() {
    let mut rng = Rng::new(4);
    let values: Vec<f64> = (0..3000).map(|i| 1.7e9 + f64::from(i % 3) * 10.0 + rng.normal()).collect();
    let fit = kmeans(Rows::new(&values, 1).expect("rows"), 3, &KMeansParams::default()).expect("fit");
    assert!(fit.labels.iter().enumerate().all(|(row, &label)| label == fit.labels[row % 3]));
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    let rows = Rows::new(&[1.0, 2.0, 3.0, 4.0], 2).expect("rows");
    let params = KMeansParams::default();
    let text = |result: Result<KMeans>| result.expect_err("refused").to_string();
    assert_eq!(
        text(kmeans(rows, 3, &params)),
        "k-means with one row per centre needs at least 3 rows, and there are 2"
    );
    assert_eq!(text(kmeans(rows, 0, &params)), "parameter `k` is 0; it must be at least 1");
    assert_eq!(text(lloyd(rows, &[1.0; 3], &params)), "centres: got 3 values, expected 4");
    assert_eq!(text(lloyd(rows, &[], &params)), "centres: got 0 values, expected 2");
    assert!(lloyd(rows, &[1.0, f64::NAN], &params).is_err());
    assert!(kmeans(rows, 1, &KMeansParams { tolerance: f64::NAN, ..params.clone() }).is_err());
    assert!(kmeans(rows, 1, &KMeansParams { n_init: 0, ..params }).is_err());
}
