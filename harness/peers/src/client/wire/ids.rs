//! The ids of the client's own requests.
//!
//! The SDK makes long strings of them; on the wire they are integers from 0, in order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// A request of the client that is not answered yet.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The id that the SDK knows.
    pub id: Value,
    pub method: String,
    /// The session that it names.
    pub session: Value,
}

/// The client's open requests.
#[derive(Debug, Default)]
pub(super) struct Ids {
    n_asked: i64,
    open: HashMap<i64, Asked>,
    order: VecDeque<i64>,
    /// Numbers by the SDK's ids, kept after the answer: a late `$/cancel_request` still names them.
    numbers: HashMap<String, i64>,
}

impl Ids {
    /// Gives a request its number.
    pub(super) fn ask(&mut self, asked: Asked, constant: bool) -> i64 {
        let number = if constant { 1 } else { self.n_asked };
        self.n_asked += 1;
        self.numbers.insert(asked.id.to_string(), number);
        self.open.insert(number, asked);
        self.order.push_back(number);
        number
    }

    /// Returns the number of a request of the SDK.
    pub(super) fn number(&self, id: &Value) -> Option<i64> {
        self.numbers.get(&id.to_string()).copied()
    }

    /// Finds the open request that an id on the wire names.
    pub(super) fn open(&self, id: &Value) -> Option<&Asked> {
        self.open.get(&id.as_i64()?)
    }

    /// Tells whether a request with this method is open.
    pub(super) fn is_open(&self, method: &str) -> bool {
        self.open.values().any(|asked| asked.method == method)
    }

    /// Tells whether a turn of a session runs.
    pub(super) fn is_prompted(&self, session: &Value) -> bool {
        self.open.values().any(|asked| asked.method == "session/prompt" && asked.session == *session)
    }

    /// Closes the open request that an id on the wire names.
    pub(super) fn answer(&mut self, id: &Value) -> Option<Asked> {
        let number = id.as_i64()?;
        self.order.retain(|open| *open != number);
        self.open.remove(&number)
    }

    /// Returns the number of the oldest open request.
    pub(super) fn oldest(&self) -> Option<i64> {
        self.order.front().copied()
    }
}
