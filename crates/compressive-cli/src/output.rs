//! What people see on a terminal: text, a progress bar, plots in characters.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use compressive_io::write_atomic;
pub use compressive_report::words::{amount, bytes, count, number, seconds, thousands};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The name that stands for standard input or output.
pub const STANDARD: &str = "-";

/// Whether a result went to standard output, so that words go to standard error.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether only errors are wanted, and results that go to no file.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on [`say`] says nothing, if that is asked.
pub fn keep_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Tells what became of a result that is in a file; nothing where quiet is asked for.
pub fn say(text: &str) -> anyhow::Result<()> {
    if QUIET.load(Ordering::Relaxed) { Ok(()) } else { print(text) }
}

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Writes a result under its name, or to standard output.
pub fn write_result(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if !is_standard(path) {
        return Ok(write_atomic(path, bytes)?);
    }
    TAKEN.store(true, Ordering::Relaxed);
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// A text for a terminal: names come from files of others, and what would move the cursor, colour the screen
/// or turn the writing around becomes visible, as JSON writes it.
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| if hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(show).collect())
}

/// Writes to standard output; a closed pipe becomes an error that ends the program quietly.
pub fn print(text: &str) -> anyhow::Result<()> {
    if TAKEN.load(Ordering::Relaxed) {
        eprint!("{}", visible(text));
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(visible(text).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a value as indented JSON.
pub fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&format!("{value:#}\n"))
}

/// A bar on a terminal, nothing in a pipe.
pub fn progress_bar(rows: Option<u64>, bytes: Option<u64>, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (total, template) = match (rows, bytes) {
        (Some(rows), _) => {
            (rows, "{bar:40} {percent:>3}%  {human_pos} of {human_len} rows  {per_sec}  {eta} left")
        }
        (None, Some(bytes)) => {
            (bytes, "{bar:40} {percent:>3}%  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left")
        }
        (None, None) => (0, "{spinner} {msg}  {elapsed}"),
    };
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template(template).expect("the templates above are valid"));
    bar
}

/// A sign of life on a terminal for work of unknown length, nothing in a pipe.
pub fn spinner(what: &'static str, quiet: bool) -> ProgressBar {
    let bar = progress_bar(None, None, quiet);
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A scatter plot of (x, y), y in [0, 1], in characters; the `floor` is drawn as a line of dots.
pub fn plot(points: &[(f64, f64)], floor: f64, x_name: &str, y_name: &str) -> String {
    const WIDTH: usize = 64;
    const HEIGHT: usize = 14;
    let x_max = points.iter().map(|p| p.0).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut cells = vec![[0u32; WIDTH]; HEIGHT];
    let row_of = |y: f64| HEIGHT - 1 - ((y.clamp(0.0, 1.0) * HEIGHT as f64) as usize).min(HEIGHT - 1);
    for (x, y) in points {
        let column = ((x / x_max * WIDTH as f64) as usize).min(WIDTH - 1);
        cells[row_of(*y)][column] += 1;
    }
    let mut out = format!("  {y_name}\n");
    for (r, row) in cells.iter().enumerate() {
        let label = match r {
            0 => "1.0",
            r if r == HEIGHT / 2 => "0.5",
            r if r == HEIGHT - 1 => "0.0",
            _ => "",
        };
        let empty = if r == row_of(floor) { '.' } else { ' ' };
        let marks = row.iter().map(|n| match n {
            0 => empty,
            1 => '+',
            2..=4 => 'x',
            _ => '#',
        });
        let line: String = marks.collect();
        out.push_str(&format!("{label:>5} |{}\n", line.trim_end()));
    }
    out.push_str(&format!("      +{}\n", "-".repeat(WIDTH)));
    out.push_str(&format!("       0{:>width$}\n", format!("{}  {x_name}", number(x_max)), width = WIDTH - 1));
    out
}

/// Points in the plane as a density in characters, with `marks` drawn on it by their numbers (or letters from
/// the eleventh on).
pub fn scatter(points: &[[f64; 2]], marks: &[[f64; 2]], names: [&str; 2]) -> String {
    const WIDTH: usize = 64;
    const HEIGHT: usize = 22;
    const SHADES: [char; 5] = ['.', ':', '+', '#', '@'];
    let range = |axis: usize| {
        let mut values: Vec<f64> = points.iter().chain(marks).map(|p| p[axis]).collect();
        values.sort_by(f64::total_cmp);
        // A few far rows would leave no room for the rest.
        let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
        let (low, high) =
            marks.iter().fold((at(0.002), at(0.998)), |(l, h), m| (l.min(m[axis]), h.max(m[axis])));
        (low, (high - low).max(f64::MIN_POSITIVE))
    };
    if points.is_empty() && marks.is_empty() {
        return String::new();
    }
    let ((x_low, x_span), (y_low, y_span)) = (range(0), range(1));
    let cell =
        |share: f64, n: usize| (0.0..=1.0).contains(&share).then(|| ((share * n as f64) as usize).min(n - 1));
    let place = |p: &[f64; 2]| {
        let column = cell((p[0] - x_low) / x_span, WIDTH)?;
        Some((HEIGHT - 1 - cell((p[1] - y_low) / y_span, HEIGHT)?, column))
    };
    let mut counts = vec![[0usize; WIDTH]; HEIGHT];
    points.iter().filter_map(place).for_each(|(row, column)| counts[row][column] += 1);
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    let shade = |n: usize| match n {
        0 => ' ',
        n => SHADES[((n as f64 / most).sqrt() * (SHADES.len() - 1) as f64).round() as usize],
    };
    let mut cells: Vec<Vec<char>> =
        counts.iter().map(|row| row.iter().map(|n| shade(*n)).collect()).collect();
    for (number, mark) in marks.iter().enumerate() {
        if let Some((row, column)) = place(mark) {
            cells[row][column] = std::char::from_digit(number as u32 % 36, 36).unwrap_or('*');
        }
    }
    let mut out = format!("  {}\n", names[1]);
    for row in cells {
        let line: String = row.into_iter().collect();
        out.push_str(&format!("  |{}\n", line.trim_end()));
    }
    out.push_str(&format!("  +{}  {}\n", "-".repeat(WIDTH), names[0]));
    out
}

/// A warning on standard error.
pub fn warn(text: &str) {
    eprintln!("warning: {}", visible(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_the_cursor_is_visible() {
        assert!(matches!(visible("größe\n\tλ 1"), Cow::Borrowed(_)));
        assert_eq!(visible("a\u{1b}[2J\u{9b}1m\r\u{202e}b"), "a\\u001b[2J\\u009b1m\\u000d\\u202eb");
        let json = format!("{:#}", serde_json::json!({ "\u{9b}name": "x" }));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&visible(&json)).unwrap()["\u{9b}name"], "x");
    }

    #[test]
    fn a_scatter_plot_draws_marks_over_the_points() {
        let text = scatter(&[[0.0, 0.0], [0.0, 0.0], [10.0, 5.0]], &[[0.0, 5.0], [10.0, 5.0]], ["a", "b"]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains('b') && lines[1].starts_with("  |0") && lines[1].ends_with('1'), "{text}");
        assert!(lines[22].starts_with("  |@") && lines[23].ends_with("  a"), "{text}");
    }

    #[test]
    fn a_plot_puts_points_where_they_belong() {
        let text = plot(&[(0.0, 1.0), (10.0, 0.0)], 0.3, "radius", "|z|");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("  1.0 |+"), "{text}");
        assert!(lines[14].starts_with("  0.0 |") && lines[14].ends_with('+'), "{text}");
        assert!(text.contains("10  radius"), "{text}");
        assert_eq!(text.lines().filter(|l| l.contains(". . .") || l.contains("....")).count(), 1, "{text}");
    }
}
