//! Layers: what stands between the program and the other side, one for each fault.

use serde_json::Value;

use super::message;

/// A fault in the messages. Without methods of its own it passes every message on.
pub(crate) trait Layer: Send {
    /// Takes a message of the other side.
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        onward.inward(message);
    }

    /// Takes a message of the program.
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        onward.outward(message);
    }
}

/// The messages that leave a layer, in both directions.
#[derive(Debug, Default)]
pub(crate) struct Onward {
    inward: Vec<Value>,
    outward: Vec<Value>,
    ends: bool,
}

impl Onward {
    /// Sends a message towards the program.
    pub(super) fn inward(&mut self, message: Value) {
        self.inward.push(message);
    }

    /// Sends a message towards the other side.
    pub(super) fn outward(&mut self, message: Value) {
        self.outward.push(message);
    }

    /// Ends the program: its input ends, and nothing that it still writes leaves it.
    pub(super) fn end(&mut self) {
        self.ends = true;
    }

    /// Takes the messages apart: those for the program, those for the other side, and whether the program ends.
    pub(super) fn into_parts(self) -> (Vec<Value>, Vec<Value>, bool) {
        (self.inward, self.outward, self.ends)
    }
}

/// Layers in a row; the first one is next to the other side, the last one next to the program.
#[derive(Default)]
pub(super) struct Chain {
    layers: Vec<Box<dyn Layer>>,
}

impl Chain {
    /// Adds a layer next to the program.
    pub(super) fn add(&mut self, layer: Box<dyn Layer>) {
        self.layers.push(layer);
    }

    /// Passes a message of the other side through all layers.
    pub(super) fn inward(&mut self, message: Value) -> Onward {
        let mut left = Onward::default();
        self.enter(0, message, &mut left);
        left
    }

    /// Passes a message of the program through all layers.
    pub(super) fn outward(&mut self, message: Value) -> Onward {
        let mut left = Onward::default();
        self.leave(self.layers.len(), message, &mut left);
        left
    }

    fn enter(&mut self, at: usize, message: Value, left: &mut Onward) {
        let Some(layer) = self.layers.get_mut(at) else { return left.inward(message) };
        let mut onward = Onward::default();
        layer.inward(message, &mut onward);
        self.go_on(at, onward, left);
    }

    /// Passes a message outward through the first `n` layers.
    fn leave(&mut self, n: usize, message: Value, left: &mut Onward) {
        let Some(at) = n.checked_sub(1) else { return left.outward(message) };
        let mut onward = Onward::default();
        self.layers[at].outward(message, &mut onward);
        self.go_on(at, onward, left);
    }

    fn go_on(&mut self, at: usize, onward: Onward, left: &mut Onward) {
        let (inward, outward, ends) = onward.into_parts();
        left.ends |= ends;
        outward.into_iter().for_each(|message| self.leave(at, message, left));
        inward.into_iter().for_each(|message| self.enter(at + 1, message, left));
    }
}

/// Changes messages of the other side, each by itself.
pub(super) struct EditInward(pub fn(&mut Value));

impl Layer for EditInward {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        (self.0)(&mut message);
        onward.inward(message);
    }
}

/// Changes messages of the program, each by itself.
pub(super) struct EditOutward(pub fn(&mut Value));

impl Layer for EditOutward {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        (self.0)(&mut message);
        onward.outward(message);
    }
}

/// Refuses requests of the other side for the reason that the function finds in them.
pub(super) struct Refuse(pub fn(&Value) -> Option<&'static str>);

impl Layer for Refuse {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        match (self.0)(&message).filter(|_| message::is_request(&message)) {
            Some(reason) => onward.outward(message::error(&message, -32602, "Invalid params", reason)),
            None => onward.inward(message),
        }
    }
}

/// Ends the program at certain messages of the other side.
pub(super) struct EndAt(pub fn(&Value) -> bool);

impl Layer for EndAt {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if (self.0)(&message) { onward.end() } else { onward.inward(message) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Appends its number to what passes, and sends a copy of each `echo` back.
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
        let (inward, outward, ends) = chain.inward(json!({"method": "echo", "by": []})).into_parts();
        assert_eq!(inward, [json!({"method": "echo", "by": [1, 2, 3]})]);
        assert_eq!(outward, [json!({"echo": []}), json!({"echo": [1]}), json!({"echo": [2, 1]})]);
        assert!(!ends);
        let (_, outward, _) = chain.outward(json!({"echo": []})).into_parts();
        assert_eq!(outward, [json!({"echo": [3, 2, 1]})]);
    }
}
