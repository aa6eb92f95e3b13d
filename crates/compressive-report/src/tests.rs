use compressive::design::{Look, Request, Task, design};
use compressive::learn::{LearnParams, learn};
use compressive::model::Model;
use compressive::privacy::AnySketch;
use compressive::{Command, Parameter, RowsRef, Scratch, Sketch, SketchOperator, Vocabulary};
use compressive_data::{Rng, generate};

use super::*;

/// A surface that is neither the program nor Python.
struct Knobs;

impl Vocabulary for Knobs {
    fn name(&self, parameter: Parameter) -> String {
        format!("the knob {parameter}")
    }

    fn set(&self, parameter: Parameter, value: &str) -> String {
        format!("{} at {value}", self.name(parameter))
    }

    fn turn_on(&self, parameter: Parameter) -> String {
        self.name(parameter)
    }

    fn run(&self, command: Command) -> Option<String> {
        Some(format!("`the lever {command:?}`"))
    }
}

/// Two days of three clusters in four columns, with the mixture of both.
struct Fixture {
    operator: SketchOperator,
    days: Vec<(String, AnySketch)>,
    total: AnySketch,
    rows: Vec<f64>,
    model: Model,
}

fn fixture() -> Fixture {
    let columns = ["a", "b", "<c>", "d & e"].map(String::from);
    let truth = generate::separated(3, 4, 3.0, &mut Rng::new(5)).expect("a mixture");
    let rows = truth.sample(4000, &mut Rng::new(6)).expect("rows").values;
    let params = Request::new(Task::Gmm, 3);
    let operator = design(Look::Sample { rows: &rows, columns: &columns }, &params)
        .expect("a spec")
        .spec
        .build()
        .expect("an operator");
    let sketch = |rows: &[f64]| {
        let mut sketch = Sketch::empty(&operator);
        operator.accumulate(RowsRef::F64(rows), None, &mut sketch, &mut Scratch::default()).expect("sums");
        sketch
    };
    let (monday, tuesday) = (sketch(&rows[..8000]), sketch(&rows[8000..]));
    let mut total = monday.clone();
    total.merge(&tuesday).expect("one spec");
    let params = LearnParams::new(Task::Gmm, 3);
    let model = learn(&operator, &total.moments().expect("rows"), &params).expect("a model").model;
    let days = vec![
        ("monday".to_owned(), AnySketch::Plain(monday)),
        ("tuesday".to_owned(), AnySketch::Plain(tuesday)),
    ];
    Fixture { operator, days, total: AnySketch::Plain(total), rows, model }
}

impl Fixture {
    fn page(&self, model: bool) -> String {
        self.page_with(model, Some(&self.rows[..400]))
    }

    fn page_with(&self, model: bool, sample: Option<&[f64]>) -> String {
        page(&self.material(model, sample)).expect("a page")
    }

    fn material<'a>(&'a self, model: bool, sample: Option<&'a [f64]>) -> Material<'a> {
        Material {
            title: "Two <days>",
            operator: &self.operator,
            total: &self.total,
            bytes: 1234,
            series: &self.days,
            model: model.then_some(&self.model),
            candidates: &[],
            sample,
            commands: &[],
            vocabulary: &Knobs,
        }
    }
}

#[test]
fn a_page_has_its_sections_escapes_names_and_asks_for_nothing_outside() {
    let text = fixture().page(true);
    for id in ["overview", "components", "map", "drift", "sketch", "privacy", "reproduce"] {
        assert!(text.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(text.contains("<h1>Two &lt;days&gt;</h1>") && !text.contains("<c>"));
    let outside: Vec<&str> =
        text.split("http").skip(1).filter(|t| !t.starts_with("://www.w3.org/2000/svg")).collect();
    assert!(outside.iter().all(|t| t.starts_with("-equiv")), "{outside:?}");
    assert_eq!(text.matches("<svg").count(), text.matches("role=\"img\" aria-label=\"").count());
    assert_eq!(text.matches("<circle class=\"row\"").count(), 100);
}

#[test]
fn a_picture_is_the_map_and_the_drift_and_nothing_outside() {
    let fixture = fixture();
    let drawn = |material: &Material<'_>| picture(material).expect("a picture");
    let text = drawn(&fixture.material(true, Some(&fixture.rows[..400]))).expect("something to draw");
    assert!(text.starts_with("<svg xmlns=") && text.matches("<svg").count() == 3, "{text}");
    assert!(text.contains("3 Gaussians with diag covariances of 4,000 rows, from 1.2 kB"), "{text}");
    assert!(text.contains("Drift over 2 sketches, without the rows") && text.contains("Two &lt;days&gt;"));
    assert!(!text.contains("<script") && text.matches("http").count() == 1);
    let alone = Material { series: &fixture.days[..1], ..fixture.material(false, None) };
    assert_eq!(drawn(&alone), None);
}

#[test]
fn a_notebook_shows_names_escaped_and_the_numbers_of_the_model() {
    let fixture = fixture();
    let text = notebook::model(&fixture.model);
    assert!(text.contains("3 Gaussians with diag covariances") && text.contains("<pre>"), "{text}");
    assert!(text.contains("&lt;c&gt;") && !text.contains("<c>"), "{text}");
    let spec = fixture.operator.spec();
    let text = notebook::sketch(spec, "4,000", 1234);
    assert!(
        text.contains("4,000") && text.contains("1.2 kB") && text.contains(&spec.fingerprint()),
        "{text}"
    );
    assert!(notebook::spec(spec).contains("4: a, b, &lt;c&gt;, d &amp; e"));
}

#[test]
fn a_page_speaks_the_words_of_its_surface() {
    let text = fixture().page_with(true, None);
    assert!(text.contains("no rows are drawn (the knob data adds them)"));
    assert!(text.contains("Release it to others with <code>the lever Privatize</code>."));
}

#[test]
fn without_a_model_a_page_tells_of_the_sketch_and_the_sample_alone() {
    let text = fixture().page(false);
    assert!(text.contains("<section id=\"sketch\"") && text.contains("<section id=\"map\""));
    assert!(!text.contains("<section id=\"components\"") && !text.contains("<ellipse"));
}

#[test]
fn the_directions_tell_apart_what_single_columns_do_not() {
    let Fixture { model, .. } = fixture();
    let shapes = Shapes::of(&model, None).expect("a mixture has shapes");
    let ratio = |axis: &Axis| {
        let places: Vec<f64> = shapes.means.iter().map(|m| axis.of(m)).collect();
        let mean = places.iter().sum::<f64>() / 3.0;
        let between = places.iter().map(|p| (p - mean).powi(2)).sum::<f64>();
        let within = (0..3).map(|l| shapes.covariance(l, &axis.vector, &axis.vector)).sum::<f64>();
        between / within
    };
    let axes = axes(&model, &shapes);
    assert!(axes[2..].iter().all(|column| ratio(&axes[0]) >= 0.99 * ratio(column)));
    assert!(ratio(&axes[0]) > ratio(&axes[1]) && axes.len() == 6 && axes[0].name == "direction 1");
}

#[test]
fn the_column_that_separates_comes_first() {
    let content = r#"{"format": 1, "task": "gmm", "k": 2, "columns": ["flat", "far"], "weights": [0.5, 0.5],
        "means": [[1.0, 0.0], [1.5, 9.0]], "covariances": [[1.0, 1.0], [1.0, 1.0]]}"#;
    let model = Model::from_json(content).expect("a model");
    let found = telling_columns(&Shapes::of(&model, None).expect("shapes"));
    assert_eq!(found[0].0, 1);
    // Between 4.5^2, within 1.
    assert!((found[0].1 - 20.25 / 21.25).abs() < 1e-12 && (found[1].1 - 0.0625 / 1.0625).abs() < 1e-12);
}
