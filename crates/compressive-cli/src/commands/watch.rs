//! `watch`: has a stream of rows, or of sketches, changed, and when?

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use compressive::ask::drift::{Drift, drift};
use compressive::ask::watch::{Alarm, Watch};
use compressive::{Scratch, Sketch, SketchOperator};
use compressive_io::{ReadOptions, Ready, Recipe, RowChunk, pass_in_order};
use serde_json::{Value, json};

use super::compare::{change_json, of_change, of_reason, percent, reason_json};
use super::design::{Way, find_recipe, job, open_job, request_for, tell_reasons};
use super::sketch::with_progress;
use super::{read_plain_sketch, read_spec};
use crate::args::WatchArgs;
use crate::output::{self, count, number, thousands};

/// Exit code of `--exit-code` if there was an alarm.
const ALARM_EXIT_CODE: i32 = 3;
/// Changes of columns that an alarm names.
const CHANGES_SHOWN: usize = 3;

/// Watches sketches in the order given, or rows in windows.
pub fn run(args: &WatchArgs) -> Result<()> {
    let sketches = args.data.data.iter().filter(|name| name.ends_with(".sketch")).count();
    let alarms = match (sketches, args.every) {
        (0, None) => bail!(
            "tell how many rows make a window, for example --every 1000; or name sketches, in their order"
        ),
        (0, Some(every)) => watch_rows(args, every)?,
        (n, None) if n == args.data.data.len() => watch_sketches(args)?,
        (_, Some(_)) => bail!("--every goes with rows; sketches are taken one by one, in the order given"),
        _ => bail!("name sketches or tables, not both"),
    };
    if args.exit_code && alarms > 0 {
        std::process::exit(ALARM_EXIT_CODE);
    }
    Ok(())
}

/// The windows of a watch, and what was told of them.
struct Told<'a> {
    args: &'a WatchArgs,
    operator: SketchOperator,
    watch: Watch,
    /// Names of sketches; none for windows of rows.
    names: Vec<String>,
    /// Rows of each window up to its end, for windows of rows.
    ends: Vec<u64>,
    alarms: u64,
}

impl<'a> Told<'a> {
    fn new(args: &'a WatchArgs, operator: SketchOperator, names: Vec<String>) -> Result<Told<'a>> {
        let watch = Watch::new(operator.clone(), args.false_alarm)?;
        Ok(Told { args, operator, watch, names, ends: Vec::new(), alarms: 0 })
    }

    fn push(&mut self, sketch: Sketch) -> Result<()> {
        self.ends.push(self.ends.last().copied().unwrap_or(0) + sketch.rows());
        let Some(alarm) = self.watch.push(sketch)? else { return Ok(()) };
        self.alarms += 1;
        let found = drift(&self.operator, &alarm.before, &alarm.after)?;
        if self.args.json {
            return output::print(&format!("{}\n", self.to_json(&alarm, &found)));
        }
        output::print(&self.words(&alarm, &found))
    }

    /// The first window after a change of which so many windows were before.
    fn place(&self, before: u64) -> String {
        let at = before as usize;
        match self.names.get(at) {
            Some(name) => name.clone(),
            None => format!("row {}", thousands(self.first_row(before))),
        }
    }

    /// The number of the first row of a window, from 1.
    fn first_row(&self, window: u64) -> u64 {
        1 + window.checked_sub(1).map_or(0, |w| self.ends[w as usize])
    }

    fn words(&self, alarm: &Alarm, found: &Drift) -> String {
        let columns = &self.operator.spec().columns;
        let p = if alarm.p_value < 1e-12 { "below 1e-12".into() } else { number(alarm.p_value) };
        let mut text = format!(
            "change at {} (between {} and {}), seen after {} (p-value {p})\n  about {} of the rows would have to change\n",
            self.place(alarm.change),
            self.place(alarm.between.0),
            self.place(alarm.between.1),
            match self.names.get(alarm.seen as usize - 1) {
                Some(name) => name.clone(),
                None => format!("row {}", thousands(self.ends[alarm.seen as usize - 1])),
            },
            percent(found.share.value),
        );
        for reason in found.reasons.iter().take(CHANGES_SHOWN) {
            text += &format!("  {}\n", of_reason(reason, columns));
        }
        if found.reasons.is_empty() {
            for change in found.changes.iter().take(CHANGES_SHOWN) {
                text += &format!("  {}\n", of_change(change, columns));
            }
        }
        text
    }

    fn to_json(&self, alarm: &Alarm, found: &Drift) -> Value {
        let columns = &self.operator.spec().columns;
        let changes: Vec<Value> = found.changes.iter().map(|change| change_json(change, columns)).collect();
        let reasons: Vec<Value> = found.reasons.iter().map(|reason| reason_json(reason, columns)).collect();
        let name = |window: u64| self.names.get(window as usize);
        json!({
            "seen": alarm.seen, "change": alarm.change, "between": [alarm.between.0, alarm.between.1],
            "first_row": self.first_row(alarm.change), "name": name(alarm.change),
            "p_value": alarm.p_value, "share": found.share, "reasons": reasons,
            "changes": changes,
        })
    }

    fn finish(self) -> Result<u64> {
        let (seen, alarms) = (self.watch.seen(), self.alarms);
        if self.args.json {
            output::print(&format!("{}\n", json!({ "seen": seen, "alarms": alarms })))?;
        } else {
            let what = if self.names.is_empty() { "window" } else { "sketch" };
            let alarms = if alarms == 0 { "no change seen".into() } else { count(alarms, "alarm") };
            output::print(&format!("{alarms} in {}\n", count(seen, what)))?;
        }
        Ok(self.alarms)
    }
}

fn watch_sketches(args: &WatchArgs) -> Result<u64> {
    const WHY: &str =
        "its noise would pass for a change; watch the plain sketches before they are privatized";
    let names = args.data.data.clone();
    let mut told: Option<Told<'_>> = None;
    for name in &names {
        let sketch = read_plain_sketch(&PathBuf::from(name), WHY)?;
        if told.is_none() {
            told = Some(Told::new(args, sketch.spec().clone().build()?, names.clone())?);
        }
        if let Some(told) = &mut told {
            told.push(sketch).with_context(|| name.clone())?;
        }
    }
    told.map_or(Ok(0), Told::finish)
}

fn watch_rows(args: &WatchArgs, every: usize) -> Result<u64> {
    let options = ReadOptions { chunk_rows: every, ..ReadOptions::default() };
    let request = request_for(compressive::design::Task::Drift, None, &args.recipe, args.seed.seed)?;
    let mut job = job(&args.data, &args.recipe, request, options);
    job.spec = args.spec.as_deref().map(read_spec).transpose()?;
    let mut dataset = open_job(&job, args.data.quiet)?;
    let (threads, quiet) = (args.threads.count(), args.data.quiet);
    let way = Way { output: None, threads, quiet, max_groups: 1, again: true };
    let Recipe { spec, reasons, .. } = find_recipe(&mut job, &mut dataset, &args.recipe, way)?;
    if !args.json {
        tell_reasons(quiet, &reasons);
    }
    let operator = spec.build()?;
    let mut told = Told::new(args, operator.clone(), Vec::new())?;
    let mut window = Sketch::empty(&operator);
    // What a pass delivers cannot fail with an error of this program's own.
    let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    with_progress(&mut dataset, threads, quiet, |dataset, options| {
        let new_worker = || {
            let (operator, mut scratch) = (&operator, Scratch::default());
            move |chunk: &RowChunk| {
                let mut sketch = Sketch::empty(operator);
                operator.accumulate(chunk.rows(), None, &mut sketch, &mut scratch)?;
                Ok(Ready { bytes: 16 * operator.spec().sketch_len(), value: sketch })
            }
        };
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |sketch: Sketch| {
            window.merge(&sketch)?;
            if window.rows() >= every as u64 {
                let full = std::mem::replace(&mut window, Sketch::empty(&operator));
                if let Err(error) = told.push(full) {
                    let mut first = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    first.get_or_insert(error);
                }
            }
            Ok(())
        })
    })?;
    if let Some(error) = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(error);
    }
    if window.rows() > 0 {
        told.push(window)?;
    }
    told.finish()
}
