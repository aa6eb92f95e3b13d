use super::*;
use crate::num::random::{Purpose, Stream};
use crate::testing::{names, sketch_of};
use crate::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchSpec, Wave, Waves};

fn parse(text: &str) -> Result<Query> {
    Query::parse(text, &names(&["x", "y", "odd name"]))
}

/// What a query of one linear part is at a row.
fn at(text: &str, row: &[f64]) -> f64 {
    let query = parse(text).unwrap();
    query.linears[0].at(row, &[0.0])
}

#[test]
fn expressions_follow_the_usual_precedence() {
    let row = [3.0, -2.0, 5.0];
    for (text, value) in [
        ("mean(1 + 2 * x)", 7.0),
        ("mean(-x^2)", -9.0),
        ("mean(2^3^2)", 512.0),
        ("mean((1 + 2) * x)", 9.0),
        ("mean(x - 1 - 1)", 1.0),
        ("mean(12 / x / 2)", 2.0),
        ("mean(y^3)", -8.0),
        ("mean(abs(y) + exp(0) + log(1) + sqrt(4))", 5.0),
        ("mean(`odd name` * 1.5e1)", 75.0),
        ("share(x < 3)", 0.0),
        ("share(x <= 3)", 1.0),
        ("share(1 < x <= 3)", 1.0),
        ("share(x > 5 or y < 0 and x >= 3)", 1.0),
        ("share(not x > 2)", 0.0),
        ("share(not not x > 2)", 1.0),
        ("mean((x > 2) * y)", -2.0),
    ] {
        assert_eq!(at(text, &row), value, "{text}");
    }
}

#[test]
fn mistakes_are_shown_with_their_place_and_a_remedy() {
    for (text, place, words) in [
        ("mean(z)", 5, "there is no column `z`; the sketch has x, y, odd name"),
        ("mean(x", 6, "expected `)`, found the end"),
        ("x + 1", 0, "mean(x)"),
        ("3", 0, "no aggregate"),
        ("mean(mean(x))", 5, "inside another aggregate"),
        ("share(x)", 6, "needs a condition"),
        ("share(x == 3)", 8, "equality"),
        ("mean(x) < 3", 8, "belongs inside"),
        ("mean(x) mean(y)", 8, "does not belong here"),
        ("median(x)", 0, "no function `median`"),
        ("quantile(x, 2)", 12, "between 0 and 1"),
        ("quantile(x)", 10, "expected `,`"),
        ("histogram(x)", 12, "histogram(x, bins)"),
        ("histogram(x, 0)", 13, "whole number from 1"),
        ("histogram(x, 5, 1, 10)", 13, "is empty"),
        ("1 + histogram(x, 5)", 4, "of its own"),
        ("mean(x % 2)", 7, "means nothing"),
        ("mean(`x)", 5, "not closed"),
        ("mean(1e999)", 5, "not a number"),
        ("", 0, "found the end"),
        ("cov(x)", 5, "expected `,`"),
    ] {
        match parse(text) {
            Err(Error::Query { at, problem, .. }) => {
                assert!(at == place && problem.contains(words), "{text}: {at}, {problem}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let deep = format!("mean({}x{})", "(".repeat(5000), ")".repeat(4000));
    assert!(parse(&deep).unwrap_err().to_string().contains("brackets"), "no overflow of the stack");
    assert!(parse(&format!("mean({})", "2^".repeat(4000))).is_err());
    let shown = parse("mean(z)").unwrap_err().to_string();
    assert!(shown.ends_with("\n  mean(z)\n       ^"), "{shown}");
}

/// Rows of two clusters, their sketch, and its operator.
fn sketched(n: usize, wave: Wave) -> (Vec<f64>, SketchOperator, Moments) {
    let mut stream = Stream::new(11, Purpose::PilotMixture, 77);
    let mut rows = Vec::new();
    for i in 0..n {
        let centre = if i % 3 == 0 { [4.0, -1.0] } else { [-2.0, 1.0] };
        rows.extend([centre[0] + stream.normal(), centre[1] + 0.5 * stream.normal()]);
    }
    let waves = Waves::usual(wave, FrequencyLaw::AdaptedRadius);
    let mut spec = SketchSpec::new(["x", "y"], waves, 1.0, 150);
    spec.bounds = Some(crate::Bounds { low: vec![-6.5, -3.5], high: vec![8.5, 3.5] });
    let operator = spec.build().unwrap();
    let moments = sketch_of(&operator, &rows).moments().unwrap();
    (rows, operator, moments)
}

fn numbers(
    operator: &SketchOperator,
    moments: &Moments,
    texts: &[&str],
    params: &QueryParams,
) -> Vec<Estimate> {
    let queries: Vec<Query> =
        texts.iter().map(|t| Query::parse(t, &operator.spec().columns).unwrap()).collect();
    let answers = answer(operator, moments, &queries, params).unwrap();
    let number = |a: &Answer| match &a.value {
        Value::Number(estimate) => *estimate,
        Value::Histogram { .. } => panic!("a number"),
    };
    answers.iter().map(number).collect()
}

#[test]
fn answers_agree_with_the_rows_within_their_errors() {
    let (rows, operator, moments) = sketched(30_000, Wave::Fourier);
    let mean = |f: &dyn Fn(&[f64]) -> f64| rows.chunks_exact(2).map(f).sum::<f64>() / 30_000.0;
    let (mx, my) = (mean(&|r| r[0]), mean(&|r| r[1]));
    let vx = mean(&|r| (r[0] - mx).powi(2));
    let vy = mean(&|r| (r[1] - my).powi(2));
    let cov = mean(&|r| (r[0] - mx) * (r[1] - my));
    let share = mean(&|r| f64::from(u8::from(r[0] > 1.0 && r[1] < 0.0)));
    let mut xs: Vec<f64> = rows.chunks_exact(2).map(|r| r[0]).collect();
    xs.sort_by(f64::total_cmp);
    let asked = [
        ("mean(x)", mx, 0.01),
        ("mean(x^2)", mean(&|r| r[0] * r[0]), 0.02),
        ("sum(x * y)", mean(&|r| r[0] * r[1]) * 30_000.0, 600.0),
        ("var(x)", vx, 0.05),
        ("std(x)", vx.sqrt(), 0.02),
        ("cov(x, y)", cov, 0.02),
        ("corr(x, y)", cov / (vx * vy).sqrt(), 0.01),
        ("share(x > 1 and y < 0)", share, 0.01),
        ("count(x > 1 and y < 0)", share * 30_000.0, 300.0),
        ("mean(x * y) / mean(y)", mean(&|r| r[0] * r[1]) / my, 0.1),
        ("quantile(x, 0.9)", xs[27_000], 0.05),
        ("count()", 30_000.0, 0.0),
    ];
    let texts: Vec<&str> = asked.iter().map(|(text, ..)| *text).collect();
    let found = numbers(&operator, &moments, &texts, &QueryParams::default());
    for ((text, truth, tolerance), e) in asked.iter().zip(&found) {
        // Three standard errors: one in 400 answers would be outside by chance.
        let error = (e.value - truth).abs();
        assert!(error <= 3.0 * e.standard_error + 1e-9, "{text}: {} for {truth}, {e:?}", e.value);
        assert!(
            error <= *tolerance && e.low <= e.value && e.value <= e.high,
            "{text}: {} for {truth}",
            e.value
        );
    }
    let threads = QueryParams { threads: 3, ..QueryParams::default() };
    assert_eq!(
        numbers(&operator, &moments, &texts[..3], &threads),
        found_again(&operator, &moments, &texts[..3])
    );
}

fn found_again(operator: &SketchOperator, moments: &Moments, texts: &[&str]) -> Vec<Estimate> {
    numbers(operator, moments, texts, &QueryParams::default())
}

/// Rows of three columns: clusters, skewed, uniform or with heavy tails.
fn rows_of(kind: usize, n: usize, stream: &mut Stream) -> Vec<f64> {
    let mut rows = Vec::new();
    for i in 0..n {
        let shift = if i % 4 == 0 { 3.0 } else { -1.0 };
        let common = (stream.uniform() / stream.uniform()).ln();
        rows.extend((0..3).map(|c| match kind {
            0 => shift * f64::from(c) + stream.normal(),
            1 => -stream.uniform().ln() + 0.5 * shift,
            3 => (stream.uniform() / stream.uniform()).ln() + f64::from(c) * 0.3 * common,
            _ => 4.0 * stream.uniform(),
        }));
    }
    rows
}

#[test]
fn most_random_queries_have_their_truth_inside_the_interval() {
    const N: usize = 20_000;
    let (mut inside, mut asked, mut widths) = (0, 0, Vec::new());
    for kind in 0..4 {
        let mut stream = Stream::new(5, Purpose::PilotMixture, 700 + kind as u64);
        let rows = rows_of(kind, N, &mut stream);
        let columns = names(&["a", "b", "c"]);
        let operator = crate::design::design(
            crate::design::Look::Sample { rows: &rows[..15_000], columns: &columns },
            &crate::design::Request::default().moments(false),
        )
        .map(|found| found.spec);
        let operator = operator.unwrap().build().unwrap();
        let sketch = sketch_of(&operator, &rows);
        let mut texts = Vec::new();
        let mut truths = Vec::new();
        for _ in 0..40 {
            let c = stream.below(3);
            let (x, y) = (&columns[c], &columns[(c + 1) % 3]);
            let (t, u) = (rows[3 * stream.below(N) + c], rows[3 * stream.below(N) + (c + 1) % 3]);
            let mean = |f: &dyn Fn(&[f64]) -> f64| rows.chunks_exact(3).map(f).sum::<f64>() / N as f64;
            let is = |holds: bool| f64::from(u8::from(holds));
            let (a, b) = (c, (c + 1) % 3);
            let (text, truth) = match stream.below(4) {
                0 => (format!("share({x} <= {t})"), mean(&|r| is(r[a] <= t))),
                1 => (format!("share({x} <= {t} and {y} > {u})"), mean(&|r| is(r[a] <= t && r[b] > u))),
                2 => (format!("mean({x}^2)"), mean(&|r| r[a] * r[a])),
                _ => (format!("mean({x} * {y})"), mean(&|r| r[a] * r[b])),
            };
            texts.push(text);
            truths.push(truth);
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = numbers(&operator, &sketch.moments().unwrap(), &texts, &QueryParams::default());
        for (i, e) in found.iter().enumerate() {
            asked += 1;
            inside += usize::from(e.low <= truths[i] && truths[i] <= e.high);
            if texts[i].starts_with("share") {
                widths.push(e.high - e.low);
            }
        }
    }
    widths.sort_by(f64::total_cmp);
    let median = widths[widths.len() / 2];
    // Of 160 with a chance of 0.05 each, more than 12 are outside in 6% of runs; the seeds are fixed.
    assert!(asked - inside <= 12, "{inside} of {asked}");
    assert!(median < 0.1, "intervals of {median} say nothing");
}

#[test]
fn values_that_many_rows_share_are_counted_at_thresholds_and_bins_where_they_are() {
    const N: usize = 20_000;
    let mut stream = Stream::new(5, Purpose::PilotMixture, 900);
    // Six of ten rows are exactly 0 in the second column.
    let rows: Vec<f64> = (0..N)
        .flat_map(|_| {
            let x = 5.0 + stream.normal();
            [x, if stream.uniform() < 0.6 { 0.0 } else { -3.0 * stream.uniform().ln() }]
        })
        .collect();
    let columns = names(&["x", "y"]);
    let look = crate::design::Look::Sample { rows: &rows[..10_000], columns: &columns };
    let spec = crate::design::design(look, &crate::design::Request::default()).unwrap().spec;
    assert!(spec.outline.is_some());
    let operator = spec.build().unwrap();
    let moments = sketch_of(&operator, &rows).moments().unwrap();
    let zero = rows.chunks_exact(2).filter(|r| r[1] == 0.0).count() as f64 / N as f64;
    let texts = ["share(y <= 0)", "share(y < 0)", "share(y > 0)", "quantile(y, 0.3)"];
    let found = numbers(&operator, &moments, &texts, &QueryParams::default());
    for (e, truth) in found.iter().zip([zero, 0.0, 1.0 - zero, 0.0]) {
        // Cells with zeros and small values both are taken as smooth: the answers are off by up to 0.09 here.
        assert!((e.value - truth).abs() < 0.12 && e.low <= truth && truth <= e.high, "{truth}: {e:?}");
    }
    let query = Query::parse("histogram(y, 0, 40, 4)", &columns).unwrap();
    let answers = answer(&operator, &moments, &[query], &QueryParams::default()).unwrap();
    let Value::Histogram { bins } = &answers[0].value else { panic!("a histogram") };
    assert!(bins[0].share.value < 0.01 && bins[1].share.value > 0.9, "{bins:?}");
}

/// The same recipe with exact moments, and a transform that mixes the columns if `whitened`.
fn keeping(set: crate::MomentSet, whitened: bool) -> (Vec<f64>, SketchOperator, Moments) {
    let (rows, operator, _) = sketched(3000, Wave::Fourier);
    let rows: Vec<f64> = rows.iter().map(|x| 1e6 + x).collect();
    let mut spec = operator.spec().clone();
    spec.bounds = None;
    spec.moments = Some(set);
    spec.transform.centre = vec![1e6; 2];
    spec.transform.spread = vec![3.0, 1.5];
    spec.transform.whiten = whitened.then(|| vec![vec![1.2, 0.0], vec![0.4, 1.1]]);
    let operator = spec.build().unwrap();
    let moments = sketch_of(&operator, &rows).moments().unwrap();
    (rows, operator, moments)
}

#[test]
fn moments_answer_exactly_and_say_so() {
    for whitened in [false, true] {
        let (rows, operator, moments) = keeping(crate::MomentSet::Full, whitened);
        let mean = |f: &dyn Fn(&[f64]) -> f64| rows.chunks_exact(2).map(f).sum::<f64>() / 3000.0;
        // Sums of numbers near zero, so that the truth has all its digits.
        let (mx, my) = (mean(&|r| r[0] - 1e6), mean(&|r| r[1] - 1e6));
        let vx = mean(&|r| (r[0] - 1e6 - mx).powi(2));
        let vy = mean(&|r| (r[1] - 1e6 - my).powi(2));
        let cov = mean(&|r| (r[0] - 1e6 - mx) * (r[1] - 1e6 - my));
        let asked = [
            ("mean(x)", 1e6 + mx),
            ("mean(2 * x - y / 4 + 1)", 1.75e6 + 1.0 + 2.0 * mx - 0.25 * my),
            ("var(x)", vx),
            ("std(y)", vy.sqrt()),
            ("cov(x, y)", cov),
            ("corr(x, y)", cov / (vx * vy).sqrt()),
            ("var(x - y)", vx + vy - 2.0 * cov),
            ("mean((x - 1000000) * (y - 1000000))", cov + mx * my),
            ("mean(x^2) - mean(x)^2", vx),
            ("sum(x) / count()", 1e6 + mx),
            ("count()", 3000.0),
        ];
        let texts = asked.map(|(text, _)| text);
        let found = numbers(&operator, &moments, &texts, &QueryParams::default());
        for ((text, truth), found) in asked.iter().zip(found) {
            // Squares of numbers near a million leave a millionth of their sixteen digits.
            let tolerance = if text.contains("^2") { 1e-3 } else { 1e-9 * truth.abs().max(1.0) };
            assert!((found.value - truth).abs() < tolerance, "{text}: {} {truth}", found.value);
            assert!(found.exact && found.noise == 0.0, "{text}");
            let inside = (found.low..=found.high).contains(truth) || text.contains("^2");
            // A difference of squares of a million is not known to more than their rounding.
            let narrow = found.high - found.low < 2.0 * tolerance.max(1e-5) || text.contains("^2");
            assert!(inside && narrow, "{text}: {found:?} {truth}");
        }
        let error = numbers(&operator, &moments, &["mean(x)"], &QueryParams::default())[0].sampling;
        assert!((error / (vx / 3000.0).sqrt() - 1.0).abs() < 1e-3, "{error}");
        let error = numbers(&operator, &moments, &["std(y)"], &QueryParams::default())[0].sampling;
        assert!((error / (vy / 6000.0).sqrt() - 1.0).abs() < 1e-3, "normal rows: {error}");
    }
}

#[test]
fn what_moments_do_not_say_is_estimated_beside_them() {
    let (_, operator, moments) = keeping(crate::MomentSet::Diagonal, false);
    let texts = ["mean(x)", "share(x > 1000001)", "var(y)", "corr(x, y)", "mean(x^3)"];
    let found = numbers(&operator, &moments, &texts, &QueryParams::default());
    assert_eq!(found.iter().map(|e| e.exact).collect::<Vec<bool>>(), [true, false, true, false, false]);
    let (_, operator, moments) = keeping(crate::MomentSet::Diagonal, true);
    let found = numbers(&operator, &moments, &["mean(x)", "var(x)"], &QueryParams::default());
    assert_eq!((found[0].exact, found[1].exact), (true, false), "whitened variances are those of mixtures");
}

/// 3000 rows of a number and two categories, of which one has a level without a coordinate of its own.
fn of_levels() -> (Vec<[f64; 6]>, SketchOperator, Moments) {
    let level = |column: &str, levels: &[&str], other| crate::Column {
        column: column.into(),
        reading: crate::Reading::Category { levels: levels.iter().map(|l| l.to_string()).collect(), other },
    };
    let readings =
        vec![crate::Column::number("x"), level("cut", &["a", "b"], true), level("hue", &["r", "s"], false)];
    let rows: Vec<[f64; 6]> = (0..3000_u32)
        .map(|i| {
            let (cut, hue) = (i % 7 % 3, i % 5);
            let is = |holds: bool| f64::from(u8::from(holds));
            let x = 100.0 + f64::from(i % 11) + 5.0 * is(cut == 0);
            [x, is(cut == 0), is(cut == 1), is(cut == 2), is(hue == 0), is(hue == 1)]
        })
        .collect();
    let mut spec = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 1.0, 200);
    spec.columns = crate::reading::coordinates(&readings);
    spec.readings = readings;
    spec.transform = crate::Transform::identity(6);
    spec.transform.centre[0] = 105.0;
    spec.moments = Some(crate::MomentSet::Full);
    let operator = spec.build().unwrap();
    let mut sketch = Sketch::empty(&operator);
    let flat: Vec<f64> = rows.iter().flatten().copied().collect();
    operator.accumulate(RowsRef::F64(&flat), None, &mut sketch, &mut Scratch::default()).unwrap();
    (rows, operator, sketch.moments().unwrap())
}

#[test]
fn shares_of_two_levels_and_means_in_the_rows_of_one_are_exact() {
    let (rows, operator, moments) = of_levels();
    let mean = |f: &dyn Fn(&[f64; 6]) -> f64| rows.iter().map(f).sum::<f64>() / rows.len() as f64;
    let asked = [
        ("share(cut = 'a' and hue = 's')", mean(&|r| r[1] * r[5])),
        ("share(cut = 'a' and cut = 'b')", 0.0),
        ("share((cut = 'a' or cut = 'b') and hue != 'r')", mean(&|r| (r[1] + r[2]) * (1.0 - r[4]))),
        ("share(not (cut = 'a' or hue = 'r'))", mean(&|r| (1.0 - r[1]) * (1.0 - r[4]))),
        ("share(hue = 's' where cut = 'b')", mean(&|r| r[2] * r[5]) / mean(&|r| r[2])),
        ("mean(x where cut = 'a')", mean(&|r| r[0] * r[1]) / mean(&|r| r[1])),
        ("sum(x where hue = 'r')", 3000.0 * mean(&|r| r[0] * r[4])),
        ("mean(x * (cut = 'b')) / share(cut = 'b')", mean(&|r| r[0] * r[2]) / mean(&|r| r[2])),
    ];
    let texts: Vec<&str> = asked.iter().map(|(text, _)| *text).collect();
    let found = numbers(&operator, &moments, &texts, &QueryParams::default());
    for ((text, truth), e) in asked.iter().zip(&found) {
        assert!(
            e.exact && (e.value - truth).abs() < 1e-6 * truth.abs().max(1.0),
            "{text}: {e:?} for {truth}"
        );
    }
    // Moments say nothing of three columns at a time, nor of thresholds.
    let open = ["mean(x where cut = 'a' and hue = 's')", "mean(x where x > 104)"];
    let above = |r: &[f64; 6]| if r[0] > 104.0 { 1.0 } else { 0.0 };
    let truths =
        [mean(&|r| r[0] * r[1] * r[5]) / mean(&|r| r[1] * r[5]), mean(&|r| r[0] * above(r)) / mean(&above)];
    for (e, truth) in numbers(&operator, &moments, &open, &QueryParams::default()).iter().zip(truths) {
        assert!(!e.exact && e.low <= truth && truth <= e.high, "{e:?} for {truth}");
    }
    let fails = |text: &str| Query::parse(text, &operator.spec().columns).unwrap_err().to_string();
    assert!(fails("var(x where cut = 'a')").contains("belongs into mean, sum and share"));
    assert!(fails("mean(x where x)").contains("a condition follows"));
}

#[test]
fn levels_of_categories_are_compared_by_name() {
    let columns = ["x", "cut=Ideal", "cut=(other)"].map(String::from);
    let parse = |text: &str| Query::parse(text, &columns);
    // A share of a level alone is the mean of its indicator, which exact moments answer.
    for text in ["share(cut = 'Ideal')", "share(cut == \"Ideal\")", "share(cut=Ideal)"] {
        assert_eq!(parse(text).unwrap().linears, parse("mean(`cut=Ideal`)").unwrap().linears, "{text}");
    }
    let both = parse("share(cut != 'Ideal' and x < 1)").unwrap();
    let value = |row: &[f64]| both.linears[0].at(row, &[0.0]);
    assert_eq!([value(&[0.0, 0.0, 1.0]), value(&[0.0, 1.0, 0.0]), value(&[2.0, 0.0, 1.0])], [1.0, 0.0, 0.0]);
    for (text, word) in [
        ("share(cut = 'Fair')", "it has Ideal, (other)"),
        ("share(x = 1)", "equality of numbers"),
        ("share(colour = 'red')", "read as categories"),
        ("share(cut = 'Ideal)", "not closed"),
        ("cut = 'Ideal'", "inside an aggregate"),
        ("share(cut = )", "a level in quotes"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.contains(word), "{text}: {message}");
    }
}
