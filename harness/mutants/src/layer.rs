//! Layers: each is between the program and the other side, and commits one fault.

use serde_json::{Value, json};

use super::message;

/// A fault in the messages. Without methods of its own it forwards every message.
pub(crate) trait Layer: Send {
    /// Handles a message of the other side.
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        onward.inward(message);
    }

    /// Handles a message of the program.
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        onward.outward(message);
    }

    /// Handles the answer to a request of the layer itself, which is not forwarded.
    fn answered(&mut self, _answer: Value, _onward: &mut Onward) {}
}

/// A request that has no answer yet.
#[derive(Debug)]
struct Request {
    message: Value,
    /// Whether the layer sent it.
    is_own: bool,
}

/// The requests that left a layer and have no answers yet, oldest first.
#[derive(Debug, Default)]
struct Open {
    inward: Vec<Request>,
    outward: Vec<Request>,
    /// The number of requests that the layer sent itself.
    n_own: u64,
}

impl Open {
    /// Adds a request, or removes the one that a response answers.
    fn note(sent: &mut Vec<Request>, answered: &mut Vec<Request>, message: &Value) {
        if message::is_request(message) {
            sent.push(Request { message: message.clone(), is_own: false });
        } else {
            take_answered(answered, message);
        }
    }
}

/// Removes and returns the request that a message answers.
fn take_answered(open: &mut Vec<Request>, message: &Value) -> Option<Request> {
    let is_asked = |request: &Request| request.message["id"] == message["id"];
    let at = open.iter().position(is_asked).filter(|_| message::is_response(message))?;
    Some(open.remove(at))
}

/// The means of a layer for one message: the open requests, and sending messages in both directions.
#[derive(Debug, Default)]
pub(crate) struct Onward {
    inward: Vec<Value>,
    outward: Vec<Value>,
    /// The request that the message answers.
    asked: Option<Value>,
    open: Open,
}

impl Onward {
    /// Sends a message towards the program.
    pub(crate) fn inward(&mut self, message: Value) {
        Open::note(&mut self.open.inward, &mut self.open.outward, &message);
        self.inward.push(message);
    }

    /// Sends a message towards the other side.
    pub(crate) fn outward(&mut self, message: Value) {
        Open::note(&mut self.open.outward, &mut self.open.inward, &message);
        self.outward.push(message);
    }

    /// Sends a request of the layer itself towards the program, and returns its id.
    pub(crate) fn ask_inward(&mut self, method: &str, params: Value) -> Value {
        self.open.n_own += 1;
        let id = Value::from(format!("fault-{}", self.open.n_own));
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.open.inward.push(Request { message: request.clone(), is_own: true });
        self.inward.push(request);
        id
    }

    /// Returns the request that the message answers.
    pub(crate) const fn asked(&self) -> Option<&Value> {
        self.asked.as_ref()
    }

    /// Returns the request that the message answers, if it is one of this method.
    pub(crate) fn answers(&self, method: &str) -> Option<Value> {
        self.asked.clone().filter(|asked| message::calls(asked, method))
    }

    /// Returns the open requests of the other side.
    pub(crate) fn open_inward(&self) -> impl Iterator<Item = &Value> {
        self.open.inward.iter().map(|request| &request.message)
    }

    /// Returns the open requests of the program.
    pub(crate) fn open_outward(&self) -> impl Iterator<Item = &Value> {
        self.open.outward.iter().map(|request| &request.message)
    }

    /// Returns the open requests of this method, from either side.
    pub(crate) fn open<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.open_inward().chain(self.open_outward()).filter(move |request| message::calls(request, method))
    }

    /// Returns the open request of this method in a session, from either side.
    pub(crate) fn open_in<'a>(&'a self, method: &'a str, id: &str) -> Option<&'a Value> {
        self.open(method).find(|request| message::session(request) == Some(id))
    }

    /// Splits the messages: those for the program, and those for the other side.
    pub(crate) fn into_parts(self) -> (Vec<Value>, Vec<Value>) {
        (self.inward, self.outward)
    }
}

/// A layer and the requests that left it.
struct Stage {
    layer: Box<dyn Layer>,
    open: Open,
}

impl Stage {
    /// Passes a message to the layer, and returns its output.
    fn pass(&mut self, message: Value, is_inward: bool) -> Onward {
        let Self { layer, open } = self;
        let answered = take_answered(if is_inward { &mut open.outward } else { &mut open.inward }, &message);
        let is_own = answered.as_ref().is_some_and(|request| request.is_own);
        let asked = answered.map(|request| request.message);
        let mut onward = Onward { asked, open: std::mem::take(open), ..Onward::default() };
        match (is_own, is_inward) {
            (true, _) => layer.answered(message, &mut onward),
            (false, true) => layer.inward(message, &mut onward),
            (false, false) => layer.outward(message, &mut onward),
        }
        *open = std::mem::take(&mut onward.open);
        onward
    }
}

/// Layers in sequence; the first one is next to the other side, the last one next to the program.
#[derive(Default)]
pub(crate) struct Chain {
    stages: Vec<Stage>,
}

impl Chain {
    /// Adds a layer next to the program.
    pub(crate) fn add(&mut self, layer: Box<dyn Layer>) {
        self.stages.push(Stage { layer, open: Open::default() });
    }

    /// Passes a message of the other side through all layers.
    pub(crate) fn inward(&mut self, message: Value) -> Onward {
        let mut left = Onward::default();
        self.enter(0, message, &mut left);
        left
    }

    /// Passes a message of the program through all layers.
    pub(crate) fn outward(&mut self, message: Value) -> Onward {
        let mut left = Onward::default();
        self.leave(self.stages.len(), message, &mut left);
        left
    }

    fn enter(&mut self, at: usize, message: Value, left: &mut Onward) {
        let Some(stage) = self.stages.get_mut(at) else { return left.inward.push(message) };
        let onward = stage.pass(message, true);
        self.go_on(at, onward, left);
    }

    /// Passes a message outward through the first `n` layers.
    fn leave(&mut self, n: usize, message: Value, left: &mut Onward) {
        let Some(at) = n.checked_sub(1) else { return left.outward.push(message) };
        let onward = self.stages[at].pass(message, false);
        self.go_on(at, onward, left);
    }

    fn go_on(&mut self, at: usize, onward: Onward, left: &mut Onward) {
        let (inward, outward) = onward.into_parts();
        outward.into_iter().for_each(|message| self.leave(at, message, left));
        inward.into_iter().for_each(|message| self.enter(at + 1, message, left));
    }
}

/// Changes messages of the other side, each by itself.
pub(crate) struct EditInward(pub fn(&mut Value));

impl Layer for EditInward {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        (self.0)(&mut message);
        onward.inward(message);
    }
}

/// Refuses requests of the other side for the reason that the function returns, and turns such results into errors.
pub(crate) struct Refuse(pub fn(&Value) -> Option<&'static str>);

impl Layer for Refuse {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let error = |code, text, reason| message::error(&message, code, text, reason);
        match (self.0)(&message) {
            Some(reason) if message::is_request(&message) => onward.outward(error(-32602, "Invalid params", reason)),
            Some(reason) if message::is_response(&message) => onward.inward(error(-32603, "Internal error", reason)),
            _ => onward.inward(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Appends its number to messages, and sends a copy of each `echo` back.
    struct Marked(u64);

    impl Layer for Marked {
        fn inward(&mut self, mut message: Value, onward: &mut Onward) {
            if message["method"] == "echo" {
                onward.outward(json!({"echo": []}));
            }
            message["by"].as_array_mut().expect("a list").push(self.0.into());
            onward.inward(message);
        }

        fn outward(&mut self, mut message: Value, onward: &mut Onward) {
            message["echo"].as_array_mut().expect("a list").push(self.0.into());
            onward.outward(message);
        }
    }

    #[test]
    fn messages_pass_the_layers_in_order_and_answers_only_those_before() {
        let mut chain = Chain::default();
        (1..=3).for_each(|number| chain.add(Box::new(Marked(number))));
        let (inward, outward) = chain.inward(json!({"method": "echo", "by": []})).into_parts();
        assert_eq!(inward, [json!({"method": "echo", "by": [1, 2, 3]})]);
        assert_eq!(outward, [json!({"echo": []}), json!({"echo": [1]}), json!({"echo": [2, 1]})]);
        let (_, outward) = chain.outward(json!({"echo": []})).into_parts();
        assert_eq!(outward, [json!({"echo": [3, 2, 1]})]);
    }

    /// Sends the program a request for each request of the other side, and holds that until the answer.
    #[derive(Default)]
    struct Asking(Option<Value>);

    impl Layer for Asking {
        fn inward(&mut self, message: Value, onward: &mut Onward) {
            onward.ask_inward("ready", json!({}));
            self.0 = Some(message);
        }

        fn outward(&mut self, mut message: Value, onward: &mut Onward) {
            message["asked"] = onward.asked().cloned().unwrap_or_default();
            message["open"] = onward.open("work").count().into();
            onward.outward(message);
        }

        fn answered(&mut self, _answer: Value, onward: &mut Onward) {
            self.0.take().into_iter().for_each(|held| onward.inward(held));
        }
    }

    #[test]
    fn answers_meet_their_requests() {
        let mut chain = Chain::default();
        chain.add(Box::new(Asking::default()));
        let work = json!({"id": 1, "method": "work"});
        let (inward, _) = chain.inward(work.clone()).into_parts();
        assert_eq!(inward[0]["method"], "ready");
        let (inward, outward) = chain.outward(json!({"id": inward[0]["id"], "result": {}})).into_parts();
        assert_eq!((inward, outward), (vec![work.clone()], vec![]), "the answer to the layer goes no further");
        let (_, outward) = chain.outward(json!({"method": "note"})).into_parts();
        assert_eq!(outward, [json!({"method": "note", "asked": null, "open": 1})]);
        let (_, outward) = chain.outward(json!({"id": 1, "result": {}})).into_parts();
        assert_eq!(outward, [json!({"id": 1, "result": {}, "asked": work, "open": 0})]);
    }
}
