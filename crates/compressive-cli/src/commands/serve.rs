//! `serve` and `token`: the collector.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive_client::check_name;
use compressive_collector::{Limits, Serve, Server, Store, Tokens};
use serde_json::json;

use crate::args::{ServeArgs, TokenArgs, TokenCommand};
use crate::output;

/// Runs the collector until it is told to stop.
pub fn run(args: &ServeArgs) -> Result<()> {
    if let Some(backup) = &args.restore {
        restore(backup, &args.directory)?;
    }
    let tokens = Tokens::read(&args.directory)?.tokens;
    let valid = tokens.iter().filter(|token| token.revoked.is_none()).count();
    check_safety(args, valid)?;
    let serve = Serve {
        directory: args.directory.clone(),
        address: args.listen,
        open: tokens.is_empty(),
        limits: Limits {
            body: args.max_body,
            rows: args.max_rows as u64,
            connections: args.max_connections,
            streams: args.max_streams,
            buckets: args.max_buckets,
            answer_seconds: args.max_seconds as u64,
            ..Limits::default()
        },
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        log: args.log,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let server = Server::start(&serve).await?;
        if !args.quiet {
            let scheme = if serve.tls.is_some() { "https" } else { "http" };
            let who = if serve.open {
                "everybody who reaches it, until a token is made"
            } else {
                "holders of tokens"
            };
            let address = server.address()?;
            output::print(&format!(
                "collecting in {} at {scheme}://{address} for {who}\n",
                args.directory.display()
            ))?;
        }
        server.run(stopped()).await;
        Ok(())
    });
    // Models that are still being learned are for nobody any more.
    runtime.shutdown_background();
    outcome
}

/// Refuses to be open to a network by accident.
fn check_safety(args: &ServeArgs, valid_tokens: usize) -> Result<()> {
    if args.listen.ip().is_loopback() || args.insecure {
        return Ok(());
    }
    if args.tls_cert.is_none() {
        bail!(
            "{} can be reached from other machines: give --tls-cert and --tls-key, or say --insecure if something in front of it encrypts",
            args.listen
        );
    }
    if valid_tokens == 0 {
        bail!(
            "{} can be reached from other machines and there is no token: make one with `compressive token create {} --role admin`, or say --insecure",
            args.listen,
            args.directory.display()
        );
    }
    Ok(())
}

/// Ready when the program is told to end.
pub async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without signals the program is ended from outside.
    let _ = tokio::signal::ctrl_c().await;
}

/// Puts a backup where the store is expected.
fn restore(backup: &Path, directory: &Path) -> Result<()> {
    let path = Store::path(directory);
    if path.exists() {
        bail!("{} exists already; restore into an empty directory", path.display());
    }
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the folder {}", directory.display()))?;
    let bytes = super::read(backup)?;
    compressive_io::write_atomic(&path, &bytes)?;
    Ok(())
}

/// Makes, lists and revokes tokens.
pub fn token(args: &TokenArgs) -> Result<()> {
    match &args.command {
        TokenCommand::Create { directory, role, stream } => {
            if let Some(stream) = stream {
                check_name(stream)?;
            }
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot make the folder {}", directory.display()))?;
            let mut tokens = Tokens::read(directory)?;
            let token = tokens.create(*role, stream.clone())?;
            tokens.write(directory)?;
            output::print(&format!("{token}\n"))
        }
        TokenCommand::List { directory, json } => list(&Tokens::read(directory)?, *json),
        TokenCommand::Revoke { directory, id } => {
            let mut tokens = Tokens::read(directory)?;
            if !tokens.revoke(id) {
                bail!("there is no token {id}; `compressive token list {}` shows them", directory.display());
            }
            tokens.write(directory)?;
            output::print(&format!("{id} is revoked\n"))
        }
    }
}

fn list(tokens: &Tokens, as_json: bool) -> Result<()> {
    if as_json {
        let one = |t: &compressive_collector::Record| json!({ "id": t.id, "role": t.role, "stream": t.stream, "created": t.created, "revoked": t.revoked });
        return output::print_json(&tokens.tokens.iter().map(one).collect());
    }
    let line = |t: &compressive_collector::Record| {
        let revoked = t.revoked.as_ref().map_or(String::new(), |at| format!("  revoked {at}"));
        let stream = t.stream.as_deref().unwrap_or("all streams");
        format!("{}  {:6}  {stream}  made {}{revoked}\n", t.id, t.role.name(), t.created)
    };
    output::print(&tokens.tokens.iter().map(line).collect::<String>())
}
