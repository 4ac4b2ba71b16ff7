//! The method table: the senders of each method, and the definitions of its payloads.

use serde_json::Value;

use super::names::NameMap;
use super::schema::Schema;
use crate::requirement::Party;

/// Whether a call needs an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It has an id and gets an answer.
    Request,
    /// It has no id and never gets an answer.
    Notification,
}

/// The definitions of one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The name on the wire.
    pub name: String,
    /// The definition of `params`.
    pub params: String,
    /// The definition of `result`; `None` for a notification.
    pub result: Option<String>,
}

/// The methods of one schema, by sender, kind and name.
#[derive(Debug, Default)]
pub struct MethodTable {
    /// By name: the method in each of [`FORMS`].
    by_name: NameMap<String, [Option<Method>; FORMS.len()]>,
}

/// The sender and kind of each column.
const FORMS: [(Party, Kind); 4] = [
    (Party::Agent, Kind::Request),
    (Party::Agent, Kind::Notification),
    (Party::Client, Kind::Request),
    (Party::Client, Kind::Notification),
];

const fn form(sender: Party, kind: Kind) -> usize {
    2 * sender as usize + kind as usize
}

impl MethodTable {
    /// Reads the table from the schema; no method is written by hand.
    pub fn derive(schema: &Schema) -> Self {
        let mut table = Self::default();
        for sender in [Party::Agent, Party::Client] {
            // Between a conductor and a proxy, which stand where a client and an agent do, both send such requests.
            for [calls, answers] in [[title(sender), title(sender.other())], ["Proxy"; 2]] {
                let results = schema.methods_at(&format!("/$defs/{answers}Response/anyOf/0/properties/result/anyOf"));
                for (name, params) in call_params(schema, calls, "Request") {
                    let result =
                        results.iter().find(|(method, _)| *method == name).map(|(_, definition)| definition.clone());
                    table.insert(sender, Kind::Request, Method { name, params, result });
                }
                for (name, params) in call_params(schema, calls, "Notification") {
                    table.insert(sender, Kind::Notification, Method { name, params, result: None });
                }
            }
            for (name, params) in protocol_level(schema) {
                table.insert(sender, Kind::Notification, Method { name, params, result: None });
            }
        }
        table
    }

    fn insert(&mut self, sender: Party, kind: Kind, method: Method) {
        let forms = self.by_name.entry(method.name.clone()).or_default();
        forms[form(sender, kind)] = Some(method);
    }

    /// Returns the method with this name that `sender` may send in this form.
    pub fn find(&self, sender: Party, kind: Kind, name: &str) -> Option<&Method> {
        self.by_name.get(name)?[form(sender, kind)].as_ref()
    }

    /// Whether `sender` may send the method, as a request or as a notification.
    pub fn knows(&self, sender: Party, name: &str) -> bool {
        self.kind_of(sender, name).is_some()
    }

    /// Returns the form in which `sender` sends the method.
    pub fn kind_of(&self, sender: Party, name: &str) -> Option<Kind> {
        let forms = self.by_name.get(name)?;
        [Kind::Request, Kind::Notification].into_iter().find(|&kind| forms[form(sender, kind)].is_some())
    }

    /// Returns all names that `sender` may use, sorted and without duplicates.
    pub fn names(&self, sender: Party) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(party, ..)| *party == sender).map(|(_, _, method)| method.name.as_str())
    }

    /// Returns every entry: sender, kind and method.
    pub fn iter(&self) -> impl Iterator<Item = (Party, Kind, &Method)> {
        FORMS.into_iter().flat_map(|(party, kind)| {
            let of_form = self.by_name.values().filter_map(|forms| forms[form(party, kind)].as_ref());
            let mut methods: Vec<_> = of_form.collect();
            methods.sort_by_key(|method| &method.name);
            methods.into_iter().map(move |method| (party, kind, method))
        })
    }
}

fn title(party: Party) -> &'static str {
    match party {
        Party::Agent => "Agent",
        Party::Client => "Client",
    }
}

fn call_params(schema: &Schema, sender: &str, kind: &str) -> Vec<(String, String)> {
    schema.methods_at(&format!("/$defs/{sender}{kind}/properties/params/anyOf/0/anyOf"))
}

/// Returns the notifications that both parties may send, which the schema keeps in a branch of its root.
fn protocol_level(schema: &Schema) -> Vec<(String, String)> {
    let branches = schema.root().pointer("/anyOf").and_then(Value::as_array);
    let position = branches
        .and_then(|list| list.iter().position(|branch| branch.get("title") == Some(&Value::from("ProtocolLevel"))));
    position.map_or_else(Vec::new, |at| schema.methods_at(&format!("/anyOf/{at}/properties/params/anyOf/0/anyOf")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::v1;

    #[test]
    fn every_definition_that_names_a_method_is_in_the_table() {
        for (schema, table) in [(&v1().stable, &v1().methods), (&v1().unstable, &v1().draft_methods)] {
            let known: Vec<&str> =
                table.iter().flat_map(|(_, _, m)| [Some(m.params.as_str()), m.result.as_deref()]).flatten().collect();
            for (name, definition) in schema.root()["$defs"].as_object().expect("definitions") {
                if definition.get("x-method").is_some() {
                    assert!(known.contains(&name.as_str()), "{name} names a method, and the table lacks it");
                }
            }
        }
    }

    #[test]
    fn the_stable_table_has_both_directions() {
        let table = &v1().methods;
        let prompt = table.find(Party::Client, Kind::Request, "session/prompt").expect("session/prompt");
        assert_eq!((prompt.params.as_str(), prompt.result.as_deref()), ("PromptRequest", Some("PromptResponse")));
        assert!(table.find(Party::Agent, Kind::Request, "session/prompt").is_none());
        assert_eq!(table.kind_of(Party::Agent, "session/update"), Some(Kind::Notification));
        assert_eq!(table.kind_of(Party::Agent, "$/cancel_request"), Some(Kind::Notification));
    }
}
