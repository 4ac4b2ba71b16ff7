//! Protocol version 2, the draft of November 2026.

use serde_json::Value;

use super::{Adapter, Update, update_in};
use crate::protocol::capability::{self, Capability, Feature};
use crate::requirement::Party;
use crate::wire::Members;

/// Protocol version 2.
#[derive(Debug)]
pub struct V2;

impl Adapter for V2 {
    fn capabilities_member(&self, _party: Party) -> &'static str {
        "capabilities"
    }

    fn permission_member(&self) -> &'static str {
        "title"
    }

    fn advertises(&self, capabilities: Option<&Value>, path: &[&str]) -> bool {
        let found = capabilities.and_then(|all| path.iter().try_fold(all, |value, key| value.member(key)));
        matches!(found, Some(Value::Object(_)))
    }

    fn info_member(&self, _party: Party) -> &'static str {
        "info"
    }

    fn has_null_results(&self) -> bool {
        false
    }

    fn reserves_values(&self) -> bool {
        true
    }

    fn capability(&self, party: Party, feature: Feature<'_>) -> Option<&'static Capability> {
        capability::find(capability::V2, party, feature)
    }

    fn turn_end<'v>(&self, _method: &str, _result: &'v Value) -> Option<&'v str> {
        // The response to a prompt is a receipt; a state update ends the work.
        None
    }

    fn response_ends_turn(&self) -> bool {
        false
    }

    fn update<'v>(&self, params: &'v Value) -> Option<Update<'v>> {
        update_in(params)
    }

    fn is_turn_content(&self, _variant: &str) -> bool {
        // Work may begin without a prompt, and background work may continue after it.
        false
    }
}
