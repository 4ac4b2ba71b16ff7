//! The person who operates a client by hand: what they are asked to do, and the keys that they press meanwhile.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the person typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Tell me again what to do.
    Again,
    /// Go on with the next case.
    Skip,
    /// Begin this case once more.
    Repeat,
    /// End the run.
    Quit,
}

/// Somebody in front of the client and the terminal.
#[derive(Clone)]
pub struct Person(Arc<Inner>);

struct Inner {
    tell: Box<dyn Fn(&str) + Send + Sync>,
    keys: tokio::sync::Mutex<UnboundedReceiver<Key>>,
    patience: Duration,
    /// What the person is to do now.
    now: Mutex<Now>,
    left: AtomicBool,
}

#[derive(Default)]
struct Now {
    instructions: Vec<String>,
    /// The client has said something since, so the next instruction is a new beginning.
    past: bool,
}

/// Where the keys come from.
#[derive(Debug, Clone)]
pub struct Keys(UnboundedSender<Key>);

impl Keys {
    /// The person has typed something.
    pub fn press(&self, key: Key) {
        // The receiver is gone when the run is over.
        let _ = self.0.send(key);
    }
}

impl Person {
    /// A person who reads what `tell` prints, and has this much time for each instruction.
    pub fn new(patience: Duration, tell: impl Fn(&str) + Send + Sync + 'static) -> (Self, Keys) {
        let (sender, keys) = unbounded_channel();
        let (tell, keys) = (Box::new(tell), tokio::sync::Mutex::new(keys));
        let person = Inner { tell, keys, patience, now: Mutex::default(), left: AtomicBool::new(false) };
        (Self(Arc::new(person)), Keys(sender))
    }

    /// How long the person is waited for.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Whether the person has ended the run.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.0.left.load(Ordering::Relaxed)
    }

    /// Says something.
    pub fn tell(&self, text: &str) {
        (self.0.tell)(text);
    }

    /// Says what to do; that is said again on demand, together with everything since the client last did something.
    pub(crate) fn instruct(&self, text: &str) {
        // A prompt may have several lines.
        let text = format!("  {}", text.replace('\n', "\n    "));
        self.tell(&text);
        let mut now = self.now();
        if std::mem::take(&mut now.past) {
            now.instructions.clear();
        }
        now.instructions.push(text);
    }

    /// The client has done something.
    pub(crate) fn sees_progress(&self) {
        self.now().past = true;
    }

    /// Begins a case: what was typed before is not meant for it.
    pub(crate) async fn begin(&self) {
        *self.now() = Now::default();
        let mut keys = self.0.keys.lock().await;
        while let Ok(key) = keys.try_recv() {
            self.note(key);
        }
    }

    /// Waits until the person wants something else than to go on with the case.
    pub(crate) async fn decision(&self) -> Key {
        if self.has_left() {
            return Key::Quit;
        }
        let mut keys = self.0.keys.lock().await;
        while let Some(key) = keys.recv().await {
            self.note(key);
            match key {
                Key::Again => self.tell_again(),
                decision => return decision,
            }
        }
        // No more keys will come.
        std::future::pending().await
    }

    fn note(&self, key: Key) {
        if key == Key::Quit {
            self.0.left.store(true, Ordering::Relaxed);
        }
    }

    fn tell_again(&self) {
        let text = self.now().instructions.join("\n");
        self.tell(if text.is_empty() { "  There is nothing to do." } else { &text });
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").field("patience", &self.0.patience).finish_non_exhaustive()
    }
}
