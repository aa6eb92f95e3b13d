//! Counters for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a server has done since it started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    rows: AtomicU64,
    batches: AtomicU64,
    bytes: AtomicU64,
    repeated: AtomicU64,
    refused: AtomicU64,
    pub connections: AtomicU64,
}

impl Metrics {
    /// A batch was counted.
    pub fn counted(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    /// A batch came again.
    pub fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// A request ended with an error.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters as text.
    pub fn text(&self) -> String {
        let all = [
            ("compressive_rows_total", "counter", "Rows counted.", &self.rows),
            ("compressive_batches_total", "counter", "Batches acknowledged.", &self.batches),
            ("compressive_bytes_total", "counter", "Bytes of counted batches.", &self.bytes),
            (
                "compressive_repeated_total",
                "counter",
                "Batches that had been counted before.",
                &self.repeated,
            ),
            ("compressive_refused_total", "counter", "Requests refused.", &self.refused),
            ("compressive_connections", "gauge", "Open connections.", &self.connections),
        ];
        let one = |(name, kind, help, value): &(&str, &str, &str, &AtomicU64)| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}\n", value.load(Ordering::Relaxed))
        };
        all.iter().map(one).collect()
    }
}
