//! The client's half of the areas `modes` and `config`: what it sets is what the agent offers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::judge::check::{Check, On};
use crate::judge::conversation::{Conversation, Session, option_text, option_values};
use crate::judge::moment::{CallSeen, Moment};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::client("modes.set-listed", On::Call(mode_listed)),
    Check::client("modes.set-only-if-offered", On::Call(modes_offered)),
    Check::client("config.set-known", On::Call(option_known)),
    Check::client("config.set-request-shape", On::Call(value_fits)),
    Check::client("config.boolean-only-if-advertised", On::Call(boolean_advertised)),
    Check::client("config.prefers-options", On::Call(prefers_options)),
];

const SET_MODE: &str = "session/set_mode";
const SET_OPTION: &str = "session/set_config_option";
const BOOLEAN: [&str; 3] = ["session", "configOptions", "boolean"];

/// The session that a request of `method` names, when it is open, and its state not about to be replaced.
fn settled<'m>(moment: &Moment<'m>, call: &CallSeen<'_>, method: &str) -> Option<&'m Session> {
    let session = moment.talk.session(call.text("sessionId").filter(|_| call.method == method)?)?;
    (session.is_introduced() && session.loading.or(session.resuming).is_none()).then_some(session)
}

/// Whether the client may see something else than what was said by the rules: after a line that was wrong on purpose, or
/// an update that came before the session was known.
fn is_unclear(talk: &Conversation, call: &CallSeen<'_>) -> bool {
    let early = call.text("sessionId").is_some_and(|id| talk.course.strangers.contains_key(id));
    early || !talk.deliberate.is_empty()
}

fn accuse(moment: &Moment<'_>, call: &CallSeen<'_>, message: String, ruling: &mut Ruling<'_>) {
    if is_unclear(moment.talk, call) {
        ruling.inconclusive(message, &[]);
    } else {
        ruling.fail(message, &[]);
    }
}

/// `modeId`: "Must be one of the modes listed in `availableModes`".
///
/// Correct but unusual: the client sets the current mode again although the list lacks it, a mode of another session of the
/// same agent, or one that the list lost in a response which the client may not have read yet. The first and the last of
/// these do not fail.
fn mode_listed(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, mode)) = settled(moment, call, SET_MODE).zip(call.text("modeId")) else { return };
    let Some(modes) = session.modes.as_ref().filter(|modes| modes.get("availableModes").is_some_and(Value::is_array))
    else {
        return;
    };
    if session.lists_mode(mode) {
        ruling.pass();
    } else if modes.get("currentModeId").and_then(Value::as_str) == Some(mode) {
        // The agent is in that mode, whatever it lists.
    } else if let Some(list) = just_dropped(moment, session, mode) {
        ruling.inconclusive(format!("the mode `{mode}` was listed until just before"), &[list]);
    } else {
        accuse(moment, call, format!("the mode `{mode}` is not in availableModes"), ruling);
    }
}

/// The response that left out a mode which the list before it had, if the client may not have read it yet.
fn just_dropped(moment: &Moment<'_>, session: &Session, mode: &str) -> Option<usize> {
    let (modes, n) = session.earlier_modes.as_ref()?;
    let listed = modes.get("availableModes").and_then(Value::as_array).into_iter().flatten();
    let mut ids = listed.filter_map(|mode| option_text(mode, "id"));
    (ids.any(|id| id == mode) && !moment.talk.answered_after(Party::Client, *n)).then_some(*n)
}

/// A session has modes when the agent says so: it "MAY return a list of modes it can operate in".
///
/// Correct but unusual: the agent lists no modes and tells the current one in an update, and the client sets it again.
fn modes_offered(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = settled(moment, call, SET_MODE) else { return };
    if session.modes.is_some() {
        ruling.pass();
    } else if session.told_mode {
        ruling.inconclusive("the client set a mode; the agent listed none, and named one in an update", &[]);
    } else {
        accuse(moment, call, "the client set a mode, and the agent offered none for the session".to_owned(), ruling);
    }
}

/// A request to set an option.
struct Setting<'m> {
    session: &'m Session,
    id: &'m str,
    value: &'m Value,
    option: Option<&'m Value>,
}

impl<'m> Setting<'m> {
    fn of(moment: &Moment<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let session = settled(moment, call, SET_OPTION)?;
        let id = call.text("configId")?;
        let mut options = session.options.iter().flatten();
        let option = options.find(|option| option_text(option, "id") == Some(id));
        Some(Self { session, id, value: call.params?.get("value")?, option })
    }

    fn kind(&self) -> Option<&'m str> {
        option_text(self.option?, "type")
    }

    /// Whether the value is one for this kind of option; none when the kind or the option is not known.
    fn is_of_its_kind(&self, call: &CallSeen<'_>) -> Option<bool> {
        match self.kind()? {
            "select" => Some(self.value.is_string()),
            "boolean" => Some(self.value.is_boolean() && call.text("type") == Some("boolean")),
            _ => None,
        }
    }

    /// What is not on the list, as far as that can be told: the option, or the value of a select.
    fn stray(&self) -> Option<(String, Option<String>)> {
        let value = match (self.option, self.value.as_str()) {
            (None, _) => None,
            (Some(option), Some(value)) if self.kind() == Some("select") => {
                let current = option_text(option, "currentValue") == Some(value);
                (!current && !option_values(option).any(|offered| offered == value)).then_some(value)
            }
            (Some(_), _) => None,
        };
        (self.option.is_none() || value.is_some()).then(|| (self.id.to_owned(), value.map(str::to_owned)))
    }
}

/// The id "of the configuration option to change", and "one of the values listed in the option's `options` array".
///
/// Correct but unusual: the client sets the current value although the list lacks it, a value of a group, or what an update
/// dropped that it may not have read yet. None of these fails.
fn option_known(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(setting) = Setting::of(moment, call) else { return };
    let Some(stray) = setting.stray() else {
        if setting.is_of_its_kind(call) == Some(true) {
            ruling.pass();
        }
        return;
    };
    let message = match &stray.1 {
        None => format!("the agent offers no option `{}` for the session", setting.id),
        Some(value) => format!("the option `{}` does not offer the value `{value}`", setting.id),
    };
    match setting.session.dropped.get(&stray) {
        // The client had read the list that left it out, when it answered something that came later.
        Some(&list) if !moment.talk.answered_after(Party::Client, list) => {
            ruling.inconclusive(format!("{message} any more, which the client may not have read yet"), &[list]);
        }
        _ => accuse(moment, call, message, ruling),
    }
}

/// "For `select` options, this must be one of the values listed in the option's `options` array. For `boolean` options,
/// this must be a boolean." The schema cannot tell which of the two an option is.
///
/// Correct but unusual: a select whose values are "true" and "false" is set to such a text; a select is set with a `type`.
fn value_fits(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(setting) = Setting::of(moment, call) else { return };
    let Some(good) = setting.is_of_its_kind(call) else { return };
    if good {
        ruling.pass();
    } else {
        let kind = call.text("type").map_or("without a type".to_owned(), |kind| format!("of type {kind}"));
        let wanted = setting.kind().unwrap_or_default();
        let message = format!("the option `{}` is a {wanted}, and was set to {} {kind}", setting.id, setting.value);
        accuse(moment, call, message, ruling);
    }
}

/// Supplying `{}` means that "the client may send `session/set_config_option` requests with `type: \"boolean\"`".
///
/// Correct but unusual: a text "true" for a select. Only a JSON boolean fails.
fn boolean_advertised(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let boolean = call.params.and_then(|params| params.get("value")).is_some_and(Value::is_boolean);
    let Some((n, _)) = moment.talk.initialize.as_ref().filter(|_| boolean && call.method == SET_OPTION) else { return };
    if moment.talk.client_lacks(&BOOLEAN) {
        ruling.fail("the client set a boolean, and did not advertise session.configOptions.boolean", &[*n]);
    } else {
        ruling.pass();
    }
}

/// The option that stands for the modes of the session, when it has both: by its category, or by the same values.
fn mode_option(session: &Session) -> Option<&Value> {
    let modes = session.modes.as_ref()?.get("availableModes")?.as_array()?;
    let modes: BTreeSet<&str> = modes.iter().filter_map(|mode| option_text(mode, "id")).collect();
    let same = |option: &Value| option_values(option).collect::<BTreeSet<_>>() == modes;
    let mut options = session.options.iter().flatten();
    options.find(|option| option_text(option, "category") == Some("mode") || !modes.is_empty() && same(option))
}

/// "Clients that support config options SHOULD use `configOptions` exclusively and ignore `modes`". That a client supports
/// them shows in what it advertises, or in its use of them.
fn prefers_options(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let by_option = settled(moment, call, SET_OPTION).and_then(mode_option);
    if by_option.and_then(|option| option_text(option, "id")).is_some_and(|id| call.text("configId") == Some(id)) {
        ruling.pass();
    }
    let by_mode = settled(moment, call, SET_MODE).and_then(mode_option);
    let supports = talk.client_has(&BOOLEAN) || talk.methods_used.contains(&(Party::Client, SET_OPTION.to_owned()));
    if let Some(option) = by_mode.filter(|_| supports) {
        let id = option_text(option, "id").unwrap_or_default();
        ruling.fail(format!("the client set the mode by {SET_MODE}, and the option `{id}` stands for it"), &[]);
    }
}
