//! The person who operates a client by hand: their instructions, and the keys that they press meanwhile.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::sync::lock;

/// A key that the person pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Repeat the instructions.
    Again,
    /// Skip to the next case.
    Skip,
    /// Restart this case.
    Repeat,
    /// End the run.
    Quit,
}

/// A person who operates the client and reads the terminal.
#[derive(Clone)]
pub struct Person(Arc<Inner>);

struct Inner {
    show: Box<dyn Fn(&str) + Send + Sync>,
    keys: tokio::sync::Mutex<UnboundedReceiver<Key>>,
    patience: Duration,
    /// The current instructions.
    now: Mutex<Now>,
    left: AtomicBool,
}

#[derive(Default)]
struct Now {
    instructions: Vec<String>,
    /// The client has sent something since, so the next instruction starts a new list.
    past: bool,
}

/// The sender of pressed keys.
#[derive(Debug, Clone)]
pub struct Keys(UnboundedSender<Key>);

impl Keys {
    /// Reports a pressed key.
    pub fn press(&self, key: Key) {
        // The send fails once the run is over.
        let _ = self.0.send(key);
    }
}

impl Person {
    /// Creates a person who reads what `show` prints, and has this much time for each instruction.
    pub fn new(patience: Duration, show: impl Fn(&str) + Send + Sync + 'static) -> (Self, Keys) {
        let (sender, keys) = unbounded_channel();
        let (show, keys) = (Box::new(show), tokio::sync::Mutex::new(keys));
        let person = Inner { show, keys, patience, now: Mutex::default(), left: AtomicBool::new(false) };
        (Self(Arc::new(person)), Keys(sender))
    }

    /// Returns the time for each instruction.
    pub fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Whether the person has ended the run.
    pub fn has_left(&self) -> bool {
        self.0.left.load(Ordering::Relaxed)
    }

    /// Prints a text.
    pub fn show(&self, text: &str) {
        (self.0.show)(text);
    }

    /// Prints an instruction. On demand, it is repeated with all instructions since the client last did something.
    pub(crate) fn instruct(&self, text: &str) {
        // A prompt may have several lines.
        let text = format!("  {}", text.replace('\n', "\n    "));
        self.show(&text);
        let mut now = self.now();
        if std::mem::take(&mut now.past) {
            now.instructions.clear();
        }
        now.instructions.push(text);
    }

    /// Records that the client has done something.
    pub(crate) fn sees_progress(&self) {
        self.now().past = true;
    }

    /// Begins a case and drops the keys pressed before.
    pub(crate) async fn begin(&self) {
        *self.now() = Now::default();
        let mut keys = self.0.keys.lock().await;
        while let Ok(key) = keys.try_recv() {
            self.note(key);
        }
    }

    /// Waits until the person presses a key other than the one to continue with the case.
    pub(crate) async fn decision(&self) -> Key {
        if self.has_left() {
            return Key::Quit;
        }
        let mut keys = self.0.keys.lock().await;
        while let Some(key) = keys.recv().await {
            self.note(key);
            match key {
                Key::Again => self.show_again(),
                decision => return decision,
            }
        }
        // No more keys can come.
        std::future::pending().await
    }

    fn note(&self, key: Key) {
        if key == Key::Quit {
            self.0.left.store(true, Ordering::Relaxed);
        }
    }

    fn show_again(&self) {
        let text = self.now().instructions.join("\n");
        self.show(if text.is_empty() { "  You do not have to do anything." } else { &text });
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        lock(&self.0.now)
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").field("patience", &self.0.patience).finish_non_exhaustive()
    }
}
