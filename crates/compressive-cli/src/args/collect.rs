//! The collector and its tokens.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use compressive_collector::{Log, Role};

use super::{DataArgs, PurposeArgs, RecipeArgs, SeedArgs, ThreadArgs, parse_positive};

#[derive(Args)]
pub struct ServeArgs {
    /// The data directory, made if needed: all that the collector keeps
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8321")]
    pub listen: SocketAddr,
    /// Certificate chain, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Listen beyond this machine without TLS, or without tokens
    #[arg(long)]
    pub insecure: bool,
    /// Begin with the store of this backup; the directory must have none
    #[arg(long, value_name = "FILE")]
    pub restore: Option<PathBuf>,
    /// Bytes of a body, at most
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20, value_parser = parse_positive)]
    pub max_body: usize,
    /// Connections, at most
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = parse_positive)]
    pub max_connections: usize,
    /// Streams, at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = parse_positive)]
    pub max_streams: usize,
    /// What to log on standard error, a JSON object a line
    #[arg(long, value_enum, value_name = "WHAT", default_value = "refused")]
    pub log: LogArg,
    /// Do not print the address
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogArg {
    /// Nothing
    None,
    /// Start and stop, refused requests, failures
    Refused,
    /// Every request
    All,
}

impl From<LogArg> for Log {
    fn from(log: LogArg) -> Log {
        match log {
            LogArg::None => Log::None,
            LogArg::Refused => Log::Refused,
            LogArg::All => Log::All,
        }
    }
}

#[derive(Args)]
pub struct PushArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// The collector
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// The stream
    #[arg(long, value_name = "NAME")]
    pub stream: String,
    /// The stream's spec [default: asked from the collector]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["design", "purpose"])]
    pub spec: Option<PathBuf>,
    /// Make the stream if it is not there, with buckets of an hour or a day; its spec is --spec, or is designed on these rows as by `sketch`
    #[arg(long, value_enum, value_name = "EVERY", num_args = 0..=1, default_missing_value = "day")]
    pub make: Option<EveryArg>,
    /// The bucket of the rows [default: that of the moment each batch arrives]
    #[arg(long, value_name = "TIME")]
    pub bucket: Option<String>,
    /// Local privacy: each reading tells a few of its bits at random, such that this epsilon holds against the collector too (feature `one-bit`)
    #[arg(long, value_name = "EPSILON")]
    pub local_epsilon: Option<f64>,
    /// Rows of a batch
    #[arg(long, value_name = "ROWS", default_value_t = 1000, value_parser = parse_positive)]
    pub batch: usize,
    /// Batches under way at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = parse_positive)]
    pub connections: usize,
    /// Folder for batches that are not acknowledged yet; the same command takes them up again
    #[arg(long, value_name = "DIR", default_value = "compressive-spool")]
    pub spool: PathBuf,
    /// A name for these rows, by which a later run knows them [default: files by name, length and time of change]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Push rows that were pushed before once more
    #[arg(long)]
    pub again: bool,
    /// Seconds for which a batch is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = parse_positive)]
    pub patience: usize,
    /// File with the token [default: the variable COMPRESSIVE_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Trust the certificates of this PEM file
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub purpose: PurposeArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lengths of buckets.
#[derive(Clone, Copy, ValueEnum)]
pub enum EveryArg {
    Hour,
    Day,
}

impl EveryArg {
    pub fn name(self) -> &'static str {
        match self {
            EveryArg::Hour => "hour",
            EveryArg::Day => "day",
        }
    }
}

#[derive(Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    pub command: TokenCommand,
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it is not kept and cannot be shown again
    Create {
        /// The collector's data directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// What it allows
        #[arg(long, value_enum)]
        role: RoleArg,
        /// The stream it is for [default: all]
        #[arg(long, value_name = "NAME")]
        stream: Option<String>,
    },
    /// List the tokens by their ids
    List {
        /// The collector's data directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; a running collector refuses it within a second
    Revoke {
        /// The collector's data directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The token's id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum RoleArg {
    /// Send batches
    Ingest,
    /// Ask for sketches, models and drift
    Read,
    /// Everything
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Role {
        match role {
            RoleArg::Ingest => Role::Ingest,
            RoleArg::Read => Role::Read,
            RoleArg::Admin => Role::Admin,
        }
    }
}
