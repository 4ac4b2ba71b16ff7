//! The scripted model of a case: opened for a subject that has a place for it, and recorded.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::subject::Subject;
use crate::case::model::Case;
use crate::model::{Model, ModelExchange};
use crate::trace::{self, ModelEvent};

/// A model that is open for one case.
pub struct CaseModel {
    model: Model,
    exchanges: mpsc::UnboundedReceiver<ModelExchange>,
    /// Where records go.
    folder: Option<PathBuf>,
    record: Option<File>,
}

impl CaseModel {
    /// Opens a model if anything of the subject mentions it.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub async fn open(case: &Case, subject: &Subject) -> io::Result<Option<Self>> {
        if !subject.mentions_model() {
            return Ok(None);
        }
        let (sender, exchanges) = mpsc::unbounded_channel();
        let listener = Arc::new(move |exchange| {
            // The receiver is gone when the case is over.
            let _ = sender.send(exchange);
        });
        let model = Model::open(0, subject.hints.clone(), listener).await?;
        let mut model = Self { model, exchanges, folder: subject.exchanges.clone(), record: None };
        model.turn_to(&case.id)?;
        Ok(Some(model))
    }

    /// Begins the record of another case.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn turn_to(&mut self, case: &str) -> io::Result<()> {
        self.record = self.folder.as_ref().map(|folder| File::create(folder.join(file_name(case)))).transpose()?;
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.model.origin()
    }

    /// The next request that it answered. Nothing is lost when the wait for it is given up.
    pub async fn next(&mut self) -> Option<ModelEvent> {
        let exchange = self.exchanges.recv().await?;
        Some(self.noted(&exchange))
    }

    /// A request that it answered and that was not taken in yet.
    pub fn left(&mut self) -> Option<ModelEvent> {
        let exchange = self.exchanges.try_recv().ok()?;
        Some(self.noted(&exchange))
    }

    fn noted(&mut self, exchange: &ModelExchange) -> ModelEvent {
        if let Some(record) = &mut self.record
            && exchange.write(record).is_err()
        {
            // The folder was fit to be written when the run began. What is in the trace stays; no case fails for the rest.
            self.record = None;
        }
        ModelEvent { api: exchange.api.map(str::to_owned), did: exchange.did.clone() }
    }
}

/// The name of the file next to the trace of a case. A name that ends in `.jsonl` is one of a trace there.
fn file_name(case: &str) -> String {
    Path::new(&trace::file_name(case)).with_extension("model.ndjson").display().to_string()
}
