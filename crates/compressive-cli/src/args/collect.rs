//! The collector and its tokens.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use compressive_collector::{Log, Role};

use super::{named, parse_positive};

#[derive(Args)]
pub struct ServeArgs {
    /// The data directory, made if needed: all that the collector keeps
    #[arg(value_name = "DIR", env = "COMPRESSIVE_SERVE_DIR")]
    pub directory: PathBuf,
    /// Where to listen
    #[arg(
        long,
        env = "COMPRESSIVE_SERVE_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8321"
    )]
    pub listen: SocketAddr,
    /// Certificate chain, a PEM file
    #[arg(long, env = "COMPRESSIVE_SERVE_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate, a PEM file
    #[arg(long, env = "COMPRESSIVE_SERVE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Listen beyond this machine without TLS, or without tokens
    #[arg(long)]
    pub insecure: bool,
    /// Begin with the store of this backup; the directory must have none
    #[arg(long, value_name = "FILE")]
    pub restore: Option<PathBuf>,
    /// Bytes of a body, at most
    #[arg(long, env = "COMPRESSIVE_SERVE_MAX_BODY", value_name = "BYTES", default_value_t = 16 << 20, value_parser = parse_positive)]
    pub max_body: usize,
    /// Rows of a batch or of a sketch that is sent, at most
    #[arg(long, env = "COMPRESSIVE_SERVE_MAX_ROWS", value_name = "ROWS", default_value_t = 1_000_000, value_parser = parse_positive)]
    pub max_rows: usize,
    /// Connections, at most
    #[arg(long, env = "COMPRESSIVE_SERVE_MAX_CONNECTIONS", value_name = "N", default_value_t = 4096, value_parser = parse_positive)]
    pub max_connections: usize,
    /// Streams, at most
    #[arg(long, env = "COMPRESSIVE_SERVE_MAX_STREAMS", value_name = "N", default_value_t = 1000, value_parser = parse_positive)]
    pub max_streams: usize,
    /// Buckets of a stream, at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = parse_positive)]
    pub max_buckets: usize,
    /// Seconds that an answer or a model may take, at most; a model is then the best found so far
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = parse_positive)]
    pub max_seconds: usize,
    /// What to log on standard error, a JSON object a line
    #[arg(long, env = "COMPRESSIVE_SERVE_LOG", value_parser = named::<Log>(), value_name = "WHAT", default_value = "refused")]
    pub log: Log,
    /// Do not print the address
    #[arg(long, short)]
    pub quiet: bool,
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
        #[arg(long, value_parser = named::<Role>())]
        role: Role,
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
