//! `model`: serves the scripted model alone.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use anyhow::Context;

use super::args::ModelArgs;
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::plan;
use crate::edition::Bundle;
use crate::model::{Model, ModelExchange, NAME};
use crate::requirement::Party;
use crate::sync::lock;
use crate::transport::signal::StopRequests;

pub(super) fn run(args: &ModelArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let profile = args.profile.as_deref().map(|name| plan::profile(name, Party::Agent, bundle)).transpose()?;
    let hints = profile.map(|profile| profile.hints).unwrap_or_default();
    let record = args
        .record
        .as_ref()
        .map(|path| File::create(path).map(Mutex::new).with_context(|| format!("cannot write {}", path.display())));
    let record = record.transpose()?;
    let quiet = args.quiet;
    let listener = Arc::new(move |exchange: ModelExchange| {
        if let Some(record) = &record {
            // A write error must not stop the model; it is reported once, at the next line.
            let _ = exchange.write(&mut *lock(record));
        }
        if !quiet {
            say(&line(&exchange));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let port = args.port;
        let model = Model::open(port, hints, listener)
            .await
            .with_context(|| format!("cannot listen on 127.0.0.1:{port}; omit --port to use a free port"))?;
        let mut requests = StopRequests::listen();
        greet(model.origin())?;
        requests.next().await;
        Ok(ProgramExit::Good)
    })
}

/// The first line is for programs: only the address of the model.
fn greet(origin: &str) -> io::Result<()> {
    let mut out = stdout();
    writeln!(out, "{origin}")?;
    writeln!(
        out,
        "\nThe model `{NAME}` (any other name works) serves requests until Ctrl-C. Point an agent to it with:"
    )?;
    writeln!(out, "  OPENAI_BASE_URL={origin}/v1 OPENAI_API_KEY=none")?;
    writeln!(out, "  ANTHROPIC_BASE_URL={origin} ANTHROPIC_API_KEY=none")?;
    writeln!(out, "  GOOGLE_GEMINI_BASE_URL={origin} GEMINI_API_KEY=none")?;
    writeln!(out, "A prompt contains its intent in a line such as:")?;
    writeln!(out, "  {}{{\"intent\":\"read-file\",\"path\":\"/path/to/notes.txt\"}}", crate::case::MARKER)?;
    out.flush()
}

fn line(exchange: &ModelExchange) -> String {
    let ModelExchange { n, method, path, status, event, .. } = exchange;
    format!("{n:>4}  {status}  {method} {path}  {}", event.did)
}
