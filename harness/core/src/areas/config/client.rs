//! The client's half of the area `config`: changes of options that the agent offers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::modes::client::{SET_MODE, is_unclear, settled};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{CallSeen, Session, option_id, option_values};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("config.set-known", On::Call(option_known)).only(&[SET_OPTION]),
    Check::client("config.set-request-shape", On::Call(value_fits)).only(&[SET_OPTION]),
    Check::client("config.boolean-only-if-advertised", On::Call(boolean_advertised)).alone().only(&[SET_OPTION]),
    Check::client("config.prefers-options", On::Call(prefers_options)).only(&[SET_OPTION, "session/set_mode"]),
];

const SET_OPTION: &str = "session/set_config_option";
const BOOLEAN: Feature<'static> = Feature::ConfigOption("boolean");

/// A request to set an option.
struct Setting<'m> {
    session: &'m Session,
    id: &'m str,
    value: &'m Value,
    option: Option<&'m Value>,
}

impl<'m> Setting<'m> {
    fn of(ctx: &CheckContext<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let session = settled(ctx, call, SET_OPTION)?;
        let id = call.text("configId")?;
        let mut options = session.options.iter().flatten();
        let option = options.find(|option| option_id(option) == Some(id));
        Some(Self { session, id, value: call.params?.member("value")?, option })
    }

    fn kind(&self) -> Option<&'m str> {
        self.option?.text("type")
    }

    /// Whether the value fits this kind of option; `None` if the kind or the option is unknown.
    fn is_of_its_kind(&self, call: &CallSeen<'_>) -> Option<bool> {
        match self.kind()? {
            "select" => Some(self.value.is_string()),
            "boolean" => Some(self.value.is_boolean() && call.text("type") == Some("boolean")),
            _ => None,
        }
    }

    /// Returns the part that is not on the list, as far as that is known: the option, or the value of a select.
    fn stray(&self) -> Option<(String, Option<String>)> {
        let value = match (self.option, self.value.as_str()) {
            (None, _) => None,
            (Some(option), Some(value)) if self.kind() == Some("select") => {
                let current = option.text("currentValue") == Some(value);
                (!current && !option_values(option).any(|offered| offered == value)).then_some(value)
            }
            (Some(_), _) => None,
        };
        (self.option.is_none() || value.is_some()).then(|| (self.id.to_owned(), value.map(str::to_owned)))
    }
}

/// The id "of the configuration option to change", and "one of the values listed in the option's `options` array".
///
/// Correct but unusual: the client sets the current value although the list lacks it, a value of a group, or an entry
/// that an unread update dropped. These do not fail.
fn option_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(setting) = Setting::of(ctx, call) else { return };
    let Some(stray) = setting.stray() else {
        if setting.is_of_its_kind(call) == Some(true) {
            ruling.pass();
        }
        return;
    };
    match (setting.session.dropped.get(&stray), &stray.1) {
        // The client had read the list without the entry, since it answered a later request.
        (Some(&list), value) if !ctx.conversation.answered_after(Party::Client, list) => {
            ruling.proved_by(&[list]).inconclusive(fact!(
                "dropped-just-before",
                "the client set the option `{config_id}` to {value}; the agent had just dropped the option or the \
                value",
                config_id = setting.id, value = setting.value;
                dropped_value = value, method = SET_OPTION
            ));
        }
        (_, None) => {
            let fact = fact!(
                "unknown-option",
                "the client set the option `{config_id}`; expected an option that the agent offers for the session",
                config_id = setting.id; method = SET_OPTION, pointer = "/params/configId"
            );
            ruling.fail_unless(is_unclear(ctx, call), fact);
        }
        (_, Some(value)) => {
            let fact = fact!(
                "unlisted-value",
                "the client set the option `{config_id}` to `{actual}`; expected a value that the option lists",
                config_id = setting.id, actual = value; method = SET_OPTION, pointer = "/params/value"
            );
            ruling.fail_unless(is_unclear(ctx, call), fact);
        }
    }
}

/// "For `select` options, this must be one of the values listed in the option's `options` array. For `boolean` options,
/// this must be a boolean." The schema cannot decide which of the two an option is.
///
/// Correct but unusual: a select whose values are "true" and "false" is set to such a text; a select is set with a
/// `type`.
fn value_fits(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(setting) = Setting::of(ctx, call) else { return };
    let Some(good) = setting.is_of_its_kind(call) else { return };
    if good {
        ruling.pass();
    } else {
        let fact = fact!(
            "wrong-value-type",
            "the client set the {expected} option `{config_id}` to {value}, of type {value_type}; expected a value \
            of its type",
            config_id = setting.id, value = setting.value, value_type = call.text("type"), expected = setting.kind();
            method = SET_OPTION, pointer = "/params/value"
        );
        ruling.fail_unless(is_unclear(ctx, call), fact);
    }
}

/// Supplying `{}` means that "the client may send `session/set_config_option` requests with `type: \"boolean\"`".
///
/// Correct but unusual: a text "true" for a select. Only a JSON boolean fails.
fn boolean_advertised(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let boolean = call.params.and_then(|params| params.member("value")).is_some_and(Value::is_boolean);
    let Some((n, _)) = ctx.conversation.initialize.as_ref().filter(|_| boolean && call.method == SET_OPTION) else {
        return;
    };
    if ctx.conversation.client_lacks(BOOLEAN) {
        ruling.proved_by(&[*n]).fail(fact!(
            "not-advertised",
            "the client set an option to a boolean; expected it to advertise {capability} first",
            capability = ctx.conversation.capability_name(BOOLEAN); method = SET_OPTION, pointer = "/params/value"
        ));
    } else {
        ruling.pass();
    }
}

/// Returns the option for the modes of the session, if it has both: by its category, or by the same values.
fn mode_option(session: &Session) -> Option<&Value> {
    let modes = session.modes.as_ref()?.member("availableModes")?.as_array()?;
    let modes: BTreeSet<&str> = modes.iter().filter_map(|mode| mode.text("id")).collect();
    let same = |option: &Value| option_values(option).collect::<BTreeSet<_>>() == modes;
    let mut options = session.options.iter().flatten();
    options.find(|option| option.text("category") == Some("mode") || !modes.is_empty() && same(option))
}

/// "Clients that support config options SHOULD use `configOptions` exclusively and ignore `modes`". A client supports
/// them if it advertises or uses them.
fn prefers_options(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let by_option = settled(ctx, call, SET_OPTION).and_then(mode_option);
    if by_option.and_then(|option| option_id(option)).is_some_and(|id| call.text("configId") == Some(id)) {
        ruling.pass();
    }
    let by_mode = settled(ctx, call, SET_MODE).and_then(mode_option);
    let supports = conversation.client_has(BOOLEAN) || conversation.has_sent(Party::Client, SET_OPTION);
    if let Some(option) = by_mode.filter(|_| supports) {
        let id = option_id(option).unwrap_or_default();
        ruling.fail(fact!(
            "mode-set-by-old-method",
            "the client set the mode by {method}; expected it to set the option `{config_id}`, which stands for the \
            mode",
            method = SET_MODE,
            config_id = id
        ));
    }
}
