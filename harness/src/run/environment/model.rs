//! The scripted model of a case, opened if the subject's settings name one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::subject::Subject;
use crate::case::model::Case;
use crate::model::{Model, ModelExchange};
use crate::trace::{self, ModelEvent};

/// A model for one case.
pub struct CaseModel {
    model: Model,
    exchanges: mpsc::UnboundedReceiver<ModelExchange>,
    /// The folder for records.
    folder: Option<PathBuf>,
    record: Option<File>,
}

impl CaseModel {
    /// Opens a model if a setting of the subject mentions it.
    pub async fn open(case: &Case, subject: &Subject) -> io::Result<Option<Self>> {
        if !subject.mentions_model() {
            return Ok(None);
        }
        let (sender, exchanges) = mpsc::unbounded_channel();
        let listener = Arc::new(move |exchange| {
            // The send fails once the case is over and has dropped the receiver.
            let _ = sender.send(exchange);
        });
        let model = Model::open(0, subject.hints.clone(), listener).await?;
        let mut model = Self { model, exchanges, folder: subject.exchanges.clone(), record: None };
        model.turn_to(&case.id)?;
        Ok(Some(model))
    }

    /// Begins the record of another case.
    pub fn turn_to(&mut self, case: &str) -> io::Result<()> {
        self.record = self.folder.as_ref().map(|folder| File::create(folder.join(file_name(case)))).transpose()?;
        Ok(())
    }

    /// Returns the origin of its URLs.
    pub fn origin(&self) -> &str {
        self.model.origin()
    }

    /// Waits for the next request that it answered. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<ModelEvent> {
        let exchange = self.exchanges.recv().await?;
        Some(self.noted(exchange))
    }

    /// Returns an answered request that was not read yet.
    pub fn left(&mut self) -> Option<ModelEvent> {
        let exchange = self.exchanges.try_recv().ok()?;
        Some(self.noted(exchange))
    }

    fn noted(&mut self, exchange: ModelExchange) -> ModelEvent {
        if let Some(record) = &mut self.record
            && exchange.write(record).is_err()
        {
            // The folder was writable when the run began. The trace keeps its part of the exchange, so no case fails
            // because of this.
            self.record = None;
        }
        exchange.event
    }
}

/// The end of the name of a log, next to the trace of its case.
pub const MODEL_LOG: &str = "model.ndjson";

/// Returns the name of the file next to the trace of a case. It must not end in `.jsonl`, since such files are read as
/// traces.
fn file_name(case: &str) -> String {
    Path::new(&trace::file_name(case)).with_extension(MODEL_LOG).display().to_string()
}
