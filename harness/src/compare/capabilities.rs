//! What a subject advertises in its initialization.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// The name of free members, which advertise nothing.
const META: &str = "_meta";

/// Returns the paths of everything that the subject of a trace advertises, with the value unless it is just `true`.
pub(super) fn advertised(trace: &Trace) -> BTreeSet<String> {
    let subject = trace.header.subject.unwrap_or(Party::Agent);
    let mut paths = BTreeSet::new();
    let mut asked: Vec<(usize, RpcId)> = Vec::new();
    for event in &trace.events {
        let What::Line { from, bytes, .. } = &event.what else { continue };
        let Content::One { value, .. } = read_line(bytes) else { continue };
        match (Envelope::of(&value), from) {
            (Envelope::Call(call), Party::Client) if call.method == "initialize" => {
                asked.extend(call.id.map(|id| (event.connection, RpcId::new(id))));
                if let Some(params) = call.params.filter(|_| subject == Party::Client) {
                    of_introduction(params, "clientCapabilities", &mut paths);
                }
            }
            (Envelope::Response { id: Some(id), result: Some(result), .. }, Party::Agent)
                if subject == Party::Agent && asked.contains(&(event.connection, RpcId::new(id))) =>
            {
                of_introduction(result, "agentCapabilities", &mut paths);
            }
            _ => {}
        }
    }
    paths
}

fn of_introduction(said: &Value, capabilities: &str, paths: &mut BTreeSet<String>) {
    for member in [capabilities, "protocolVersion"] {
        collect(said.get(member).unwrap_or(&Value::Null), member, paths);
    }
    let methods = said.get("authMethods").and_then(Value::as_array).into_iter().flatten();
    let ids = methods.filter_map(|method| method.get("id")?.as_str());
    paths.extend(ids.map(|id| format!("authMethods.{id}")));
}

fn collect(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => drop(paths.insert(path.to_owned())),
        Value::Object(members) if members.is_empty() => drop(paths.insert(path.to_owned())),
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != META);
            members.for_each(|(name, value)| collect(value, &format!("{path}.{name}"), paths));
        }
        other => drop(paths.insert(format!("{path} = {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_advertised_capabilities() {
        let said = json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true, "mcpCapabilities": { "http": true, "sse": false }, "x": null,
                "sessionCapabilities": { "list": {}, "_meta": { "id": 7 } }, "limits": [1]
            },
            "authMethods": [{ "id": "key", "name": "Key" }, 7]
        });
        let mut paths = BTreeSet::new();
        of_introduction(&said, "agentCapabilities", &mut paths);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "agentCapabilities.limits = [1]",
                "agentCapabilities.loadSession",
                "agentCapabilities.mcpCapabilities.http",
                "agentCapabilities.sessionCapabilities.list",
                "authMethods.key",
                "protocolVersion = 1"
            ]
        );
    }
}
