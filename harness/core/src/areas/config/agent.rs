//! Area `config`: the options of a session and their changes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::{BAD_PARAMS, NO_METHOD, decide_implemented, decide_refused, proper};
use crate::areas::modes::agent::{
    client_sets, decide_anytime, decide_current_refused, decide_listed_refused, decide_refused_in_turns,
};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{
    Answer, Exchange, Outcome, Payload, SETTERS, Session, Trial, UpdateSeen, option_id, option_values as values,
    value_name,
};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::{Feature, alias_in};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("config.ids-unique", On::Payload(ids_unique)).only(LISTING),
    Check::agent("config.current-listed", On::Payload(current_listed)).only(LISTING),
    Check::agent("config.default-value", On::Response(default_value)).only(&["session/prompt"]),
    Check::agent("config.default-value", On::End(setting_required)),
    Check::agent("config.boolean-gate", On::Payload(boolean_gate)).only(LISTING),
    Check::agent("config.boolean-shape", On::Payload(boolean_shape)).only(LISTING),
    Check::agent("config.category", On::Payload(category)).only(LISTING),
    Check::agent("config.set-implemented", On::Response(set_implemented)).only(&[SET]),
    Check::agent("config.set-implemented", On::End(|ctx, ruling| decide_current_refused(ctx, SET, "value", ruling))),
    Check::agent("config.set-implemented", On::End(|ctx, ruling| decide_listed_refused(ctx, SET, "value", ruling))),
    Check::agent("config.set-complete", On::Response(set_complete)).only(&[SET]),
    Check::agent("config.set-effective", On::Response(set_effective)).only(&[SET]),
    Check::agent("config.set-anytime", On::Response(set_anytime)).only(&[SET]),
    Check::agent("config.set-anytime", On::End(|ctx, ruling| decide_refused_in_turns(ctx, SET, ruling))),
    Check::agent("config.set-boolean", On::Response(set_boolean)).only(&[SET]),
    Check::agent("config.unknown-id", On::Response(unknown_id)).only(&[SET]),
    Check::agent("config.unlisted-value", On::Response(unlisted_value)).only(&[SET]),
    Check::agent("config.update-complete", On::Update(update_complete)).only(&["config_option_update"]),
    Check::agent("config.in-sync", On::Payload(in_sync)).only(LISTING),
    Check::agent("config.in-sync", On::Response(announced_by_both)).only(&["session/prompt"]),
    Check::agent("config.in-sync", On::Response(shows_set_mode)).only(&[SET]),
];

const SET: &str = "session/set_config_option";

/// The messages that list options.
const LISTING: &[&str] = &["session/new", "session/load", "session/resume", SET, "config_option_update"];

/// Returns the list of options in a result or in an update.
fn list(value: &Value) -> Option<&Vec<Value>> {
    value.member("configOptions").or_else(|| value.member("update")?.member("configOptions"))?.as_array()
}

fn ids(options: &[Value]) -> impl Iterator<Item = &str> {
    options.iter().filter_map(|option| option_id(option))
}

/// "id: Unique identifier for this configuration option."
///
/// Correct but unusual: options of one name, ids that differ only in case, or an option whose id is a value of another.
fn ids_unique(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let Some(options) = list(payload.value) else { return };
    let mut seen = BTreeSet::new();
    match ids(options).find(|id| !seen.insert(*id)) {
        Some(doubled) => ruling.fail(fact!(
            "duplicate-id",
            "the agent listed two options with the id `{config_id}`; expected unique ids",
            config_id = doubled; method = payload.method
        )),
        None if seen.len() > 1 => ruling.pass(),
        None => {}
    }
}

/// "For `select` options this is a string value ID", of one of the values that it offers.
///
/// Correct but unusual: a select without values, or one that has its value in a group. Neither fails. A value that the
/// client set although it was not listed was accepted by mistake, which is a finding of `config.unlisted-value`; a
/// recording may lack that request.
fn current_listed(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, option) in
        payload.places("SessionConfigOption").filter(|(_, option)| option.text("type") == Some("select"))
    {
        let Some(current) = option.text("currentValue") else { continue };
        let id = option_id(option).unwrap_or_default();
        match values(option).collect::<Vec<_>>().as_slice() {
            [] => {}
            offered if offered.contains(&current) => ruling.pass(),
            _ if ctx.areas.modes.may_be_set_unlisted(ctx.conversation) => {}
            offered => ruling.fail(fact!(
                "unlisted-value",
                "the agent sent the option `{config_id}` with the value `{actual}`; expected one of {expected}",
                config_id = id, actual = current, expected = offered;
                method = payload.method, pointer = payload.pointer(at) + "/currentValue"
            )),
        }
    }
}

/// "This ensures the Agent can operate correctly even if … the Client doesn't support configuration options": a turn
/// needs no setting before it.
///
/// Correct but unusual: the turn is refused since no login or provider is set up. See [`setting_required`].
fn default_value(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let session = exchange.session().and_then(|id| ctx.conversation.session(id));
    let has_options = session.and_then(|session| session.options.as_ref()).is_some_and(|options| !options.is_empty());
    let unset = !ctx.conversation.has_sent(ctx.from.other(), SET);
    if has_options && unset && matches!(answer.outcome, Outcome::Result(_)) {
        ruling.pass();
    }
}

/// As above: a setting is required if the agent refuses each prompt before the client changes one, and accepts the same
/// prompt each time after that.
fn setting_required(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let is_refused = |trial: &Trial| {
        let options = trial.exchange.session().and_then(|id| ctx.conversation.session(id)?.options.as_ref());
        let of_params = trial.error.is_some_and(|code| (BAD_PARAMS..=-32600).contains(&code));
        of_params && trial.did_nothing() && options.is_some_and(|options| !options.is_empty())
    };
    let alike = |one: &Trial, other: &Trial| one.is_turn_beside(other) && one.is_like(other, "");
    if let Some((trial, events)) = ctx.conversation.trials.contrast(|trial| !trial.was_set, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "setting-required",
            "the agent refused each prompt before a setting, and none after it; expected turns with default values";
            code = trial.error
        ));
    }
}

/// "Agents MUST NOT include `type: \"boolean\"` options in `configOptions` payloads unless the Client advertised
/// support."
///
/// Correct but unusual: a select that offers "true" and "false". Only an option of the type boolean fails.
fn boolean_gate(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let (Some(options), Some((n, _))) = (list(payload.value), &ctx.conversation.initialize) else { return };
    if !ctx.conversation.client_lacks(Feature::ConfigOption("boolean")) {
        return;
    }
    match options.iter().find(|option| option.text("type") == Some("boolean")) {
        Some(option) => {
            let id = option_id(option).unwrap_or_default();
            ruling.proved_by(&[*n]).fail(fact!(
                "not-advertised",
                "the agent sent the boolean option `{config_id}`; expected it only if the client advertises \
                {capability}",
                config_id = id, capability = "session.configOptions.boolean";
                method = payload.method
            ));
        }
        None if !options.is_empty() => ruling.pass(),
        None => {}
    }
}

/// `options` are "omitted when `type` is `\"boolean\"`".
///
/// Correct but unusual: `options` is null, which means the same.
fn boolean_shape(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, option) in payload.places("SessionConfigBoolean") {
        if option.member("options").is_some_and(|options| !options.is_null()) {
            ruling.fail(fact!(
                "boolean-with-options",
                "the agent sent the boolean option `{config_id}` with `options`; expected none",
                config_id = option_id(option); method = payload.method, pointer = payload.pointer(at) + "/options"
            ));
        }
    }
}

/// "Category names that do not begin with `_` are reserved for the ACP spec."
///
/// Correct but unusual: no category, null, a category of its own after `_`, or several options of one category.
fn category(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, option) in payload.places("SessionConfigOption") {
        if let Some(category) = option.text("category") {
            let known = matches!(category, "mode" | "model" | "model_config" | "thought_level");
            if !known && ctx.conversation.edition.has_value_elsewhere("SessionConfigOptionCategory", category) {
                ruling.note(fact!(
                    "newer-category",
                    "the agent sent the category `{actual}`, which a draft or another revision defines; this edition \
                    does not judge it",
                    actual = category;
                    method = payload.method, pointer = payload.pointer(at) + "/category"
                ));
                continue;
            }
            ruling.decide(known || category.starts_with('_'), || {
                fact!(
                    "reserved-category",
                    "the agent sent the category `{actual}`; expected a defined one, or a name with `_` first",
                    actual = category; method = payload.method, pointer = payload.pointer(at) + "/category"
                )
            });
        }
    }
}

/// A request to change an option, with the option before the change.
struct Change<'m> {
    exchange: &'m Exchange,
    session: &'m Session,
    options: &'m [Value],
    option: Option<&'m Value>,
    value: &'m Value,
}

impl<'m> Change<'m> {
    fn of(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<Self> {
        let exchange = proper(answer, SET)?;
        let session = ctx.conversation.session(exchange.session()?)?;
        let options = session.options.as_ref()?;
        let id = exchange.text("configId")?;
        let option = options.iter().find(|option| option_id(option) == Some(id));
        Some(Self { exchange, session, options, option, value: exchange.params.member("value")? })
    }

    /// Returns the option, if the value is valid for it.
    fn valid(&self) -> Option<&'m Value> {
        let option = self.option?;
        let listed = self.value.as_str().is_some_and(|value| values(option).any(|offered| offered == value));
        (listed || self.is_boolean() && self.value.is_boolean()).then_some(option)
    }

    fn is_boolean(&self) -> bool {
        self.option.and_then(|option| option.text("type")) == Some("boolean")
    }
}

/// "Clients can change a config option value by calling the `session/set_config_option` method."
///
/// Correct but unusual: a policy refuses an offered value. Only -32601 fails.
fn set_implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if Change::of(ctx, answer).is_some_and(|change| change.valid().is_some()) {
        decide_implemented(answer, SET, ruling);
    }
}

/// "The Agent MUST respond with the complete list of all configuration options and their current values."
///
/// See [`decide_complete`] for the unusual cases.
fn set_complete(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some(change), Outcome::Result(result)) = (Change::of(ctx, answer), answer.outcome) else { return };
    match list(result) {
        Some(now) => decide_complete(ctx.areas.config.first(change.exchange.session()), change.options, now, ruling),
        None if result.is_null() => ruling.proved_by(&[change.exchange.n]).fail(fact!(
            "null-result",
            "the agent answered {method} with null; expected the list of the options",
            method = SET; pointer = "/result"
        )),
        None => {}
    }
}

/// Compares a list with the previous one.
///
/// Correct but unusual: options disappear when another one changes, such as an effort level with its model, or all
/// others with the agent that they belong to. So if three or more options are reduced to one, the list fails only if an
/// earlier list contained the others together with the same value: the last list or the first of the session.
fn decide_complete(first: &[Value], before: &[Value], now: &[Value], ruling: &mut Ruling<'_>) {
    let value = |option: &Value| (option_id(option).map(str::to_owned), option.member("currentValue").cloned());
    let is_part_of = |list: &[Value]| {
        list.len() > now.len() + 1 && now.iter().all(|option| list.iter().any(|other| value(other) == value(option)))
    };
    let certain = !now.is_empty() && (is_part_of(before) || is_part_of(first));

    let here: BTreeSet<&str> = ids(now).collect();
    let gone: Vec<&str> = ids(before).filter(|id| !here.contains(id)).collect();
    match gone.as_slice() {
        _ if now.len() == 1 && certain => {
            let most = before.len().max(first.len());
            ruling.fail(fact!(
                "partial-list",
                "the agent sent 1 of {expected} options, with a value that came with all others before; expected all",
                expected = most; missing = gone
            ));
        }
        [] if before.len() > 1 => ruling.pass(),
        [] => {}
        _ if now.len() < 2 => ruling.inconclusive(fact!(
            "options-missing",
            "the agent sent a list without the options {missing}",
            missing = gone
        )),
        _ => {
            ruling.note(fact!("options-gone", "the agent removed the options {missing} from its list", missing = gone))
        }
    }
}

/// The answer shows the new value, not the previous one.
///
/// Correct but unusual: several changes are made at the same time and answered in any order, or one value is an alias
/// of another, as `default` is, or is named so. These do not fail.
fn set_effective(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some(change), Outcome::Result(result)) = (Change::of(ctx, answer), answer.outcome) else { return };
    let Some(option) = change.valid() else { return };
    // A simultaneous change may undo it.
    let mut open = ctx.conversation.open_of(ctx.from.other()).filter(|open| open.method == SET);
    let overtaken = ctx.conversation.latest_answered.get(&ctx.from.other()).is_some_and(|&n| n > change.exchange.n);
    if overtaken || open.any(|open| open.session() == change.exchange.session() && open.n != change.exchange.n) {
        return;
    }
    let id = option_id(option);
    let now = list(result).and_then(|now| now.iter().find(|option| option_id(option) == id)?.member("currentValue"));
    let before = option.member("currentValue");
    // An update may have announced the value before the response.
    let announced = ctx.areas.config.earlier(change.exchange.session()).filter(|(_, at)| *at > change.exchange.n);
    let earlier = announced.and_then(|(options, _)| options.iter().find(|option| option_id(option) == id));
    let was_other = |now: &Value| earlier.and_then(|option| option.member("currentValue")).is_some_and(|it| it != now);
    match now {
        None => {}
        Some(now) if now == change.value && (before != Some(now) || was_other(now)) => ruling.pass(),
        Some(now) if now == change.value => {}
        Some(now) if before == Some(now) && !is_alias(now) && !stands_for_another(option, change.value) => {
            ruling.proved_by(&[change.exchange.n]).fail(fact!(
                "old-value",
                "the agent answered {method} for `{config_id}` with the old value {actual}; expected {expected}",
                method = SET, config_id = id, actual = now, expected = change.value;
                pointer = "/result/configOptions"
            ));
        }
        // A value may be an alias of another one, such as a default.
        Some(now) => ruling.proved_by(&[change.exchange.n]).inconclusive(fact!(
            "other-value",
            "the agent answered {method} for `{config_id}` with {actual}, which may stand for {expected}",
            method = SET, config_id = id, actual = now, expected = change.value;
            pointer = "/result/configOptions"
        )),
    }
}

/// Whether the id of a value names an alias of another value.
fn is_alias(value: &Value) -> bool {
    value.as_str().is_some_and(|id| alias_in(id).is_some())
}

/// Whether a value is an alias, or its name in the option is: goose offers `goose`, "Goose (Default)", for the provider
/// of its configuration.
fn stands_for_another(option: &Value, value: &Value) -> bool {
    let name = value.as_str().and_then(|id| value_name(option, id));
    is_alias(value) || name.is_some_and(|name| alias_in(name) == Some("default"))
}

/// An option "can be changed at any point during a session, whether the Agent is idle or generating a response."
fn set_anytime(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some(change) = Change::of(ctx, answer).filter(|change| change.valid().is_some()) {
        decide_anytime(answer, change.exchange, change.session, ruling);
    }
}

/// "For boolean options, Clients send `type: \"boolean\"` with a boolean `value`."
///
/// Correct but unusual: a policy or a failure keeps the option from being changed. Only -32602 fails, which is about
/// the params.
fn set_boolean(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(change) = Change::of(ctx, answer).filter(|change| change.is_boolean() && change.valid().is_some()) else {
        return;
    };
    if change.exchange.text("type") != Some("boolean") {
        return;
    }
    match answer.outcome.error_code() {
        None if matches!(answer.outcome, Outcome::Result(_)) => ruling.pass(),
        Some(BAD_PARAMS) => ruling.proved_by(&[change.exchange.n]).fail(fact!(
            "boolean-refused",
            "the agent refused a boolean value for a boolean option with {answer}; expected a result",
            answer = answer.outcome.describe(); method = SET, code = BAD_PARAMS
        )),
        code => ruling.inconclusive(fact!(
            "error-response",
            "the agent answered a boolean value with {answer}, which may have another reason",
            answer = answer.outcome.describe(); method = SET, code = code
        )),
    }
}

/// The agent refuses an option that it did not list.
///
/// Correct but unusual: it removes an option from the list, for example because another mode has no use for it, and
/// keeps the value that the client still sets.
fn unknown_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let is_unknown = |change: &Change<'_>| {
        let id = change.exchange.text("configId");
        change.option.is_none() && !change.session.dropped.keys().any(|(dropped, _)| Some(dropped.as_str()) == id)
    };
    if let Some(change) = Change::of(ctx, answer).filter(is_unknown) {
        let accepted = |_: &str| {
            fact!(
                "unknown-option-accepted",
                "the agent accepted a value for the unknown option `{config_id}`; expected an error",
                config_id = change.exchange.text("configId"); method = SET
            )
        };
        decide_change_refused(answer, accepted, ruling);
    }
}

/// "For `select` options, this must be one of the values listed in the option's `options` array."
fn unlisted_value(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let change = Change::of(ctx, answer).filter(|change| change.valid().is_none() && !change.is_boolean());
    if let Some(change) = change.filter(|change| change.option.is_some() && change.value.is_string()) {
        let accepted = |_: &str| {
            fact!(
                "unlisted-value-accepted",
                "the agent accepted the value {actual} for the option `{config_id}`, which it does not list; \
                expected an error",
                actual = change.value, config_id = change.exchange.text("configId");
                method = SET
            )
        };
        decide_change_refused(answer, accepted, ruling);
    }
}

/// Like [`decide_refused`], but the error of an unknown method decides nothing.
fn decide_change_refused(answer: &Answer<'_>, accepted: impl FnOnce(&str) -> Fact, ruling: &mut Ruling<'_>) {
    if answer.outcome.error_code() != Some(NO_METHOD) {
        decide_refused(answer, BAD_PARAMS, accepted, ruling);
    }
}

/// "This notification also contains the complete configuration state."
///
/// See [`decide_complete`] for the unusual cases.
fn update_complete(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|_| update.variant == "config_option_update");
    if let (Some(before), Some(now)) = (session.and_then(|session| session.options.as_ref()), list(update.body)) {
        decide_complete(ctx.areas.config.first(Some(update.session)), before, now, ruling);
    }
}

/// Returns the option that has the modes as its values: its category is `mode`, and it offers the ids of the modes.
fn twin<'m>(options: &'m [Value], modes: &Value) -> Option<&'m Value> {
    let listed = modes.list("availableModes").iter();
    let listed: BTreeSet<&str> = listed.filter_map(|mode| mode.text("id")).collect();
    let same = |option: &&Value| values(option).collect::<BTreeSet<_>>() == listed;
    options.iter().filter(|option| option.text("category") == Some("mode")).find(same)
}

/// "Agents SHOULD keep both in sync": if a result has modes and an option with the same values.
fn in_sync(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let (Some(options), Some(modes)) = (list(payload.value), payload.value.member("modes")) else { return };
    if let (Some(option), Some(mode)) = (twin(options, modes), modes.text("currentModeId")) {
        let value = option.text("currentValue").unwrap_or_default();
        ruling.decide(value == mode, || {
            fact!(
                "mode-and-option-differ",
                "the agent sent the mode `{mode_id}` and the value `{value}` of the option for it; expected the same",
                mode_id = mode, value; method = payload.method
            )
        });
    }
}

/// "Agents SHOULD keep both in sync to ensure consistent behavior regardless of which field the Client uses": a change
/// of the mode that the agent announces through one of them reaches the clients that use the other.
///
/// Correct but unusual: the second update comes after the turn, so the end of a later turn decides; the client changed
/// the mode itself, and needs no update; the option has other values than the modes.
fn announced_by_both(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt").filter(|_| !client_sets(ctx)) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let turn = session.turn.as_ref().filter(|turn| turn.n == exchange.n && !turn.overlapped);
    let announced = ctx.areas.config.announced(exchange.session());
    if turn.is_none() || announced.is_none_or(|prompts| prompts >= session.prompts) {
        return;
    }
    let (Some(modes), Some(options)) = (&session.modes, &session.options) else { return };
    let Some((mode, value)) = session.mode().zip(twin(options, modes).and_then(|option| option.text("currentValue")))
    else {
        return;
    };
    if mode == value {
        return ruling.pass();
    }
    ruling.fail_in_case(fact!(
        "announced-by-one",
        "the agent announced a change of the mode by only one of its updates: the mode is `{mode_id}`, and the \
        option for it has the value `{value}`; expected both updates",
        mode_id = mode, value;
        session_id = exchange.session()
    ));
}

/// As above: the list of options that follows a change of the mode shows it.
///
/// Correct but unusual: the request changes the option for the mode, other changes are answered at the same time, or
/// the agent left the mode by itself meanwhile. Only the value from before the change fails.
fn shows_set_mode(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some(exchange), Outcome::Result(result)) = (proper(answer, SET), answer.outcome) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let (Some(set), Some(modes), Some(options)) = (&session.mode_set, &session.modes, list(result)) else { return };
    let Some(option) = twin(options, modes).filter(|option| option_id(option) != exchange.text("configId")) else {
        return;
    };
    let mut open = ctx.conversation.open_of(ctx.from.other()).filter(|open| SETTERS.contains(&&*open.method));
    let crossing = open.any(|open| open.n != exchange.n) || set.n > exchange.n || set.after_another;
    match option.text("currentValue") {
        _ if crossing => {}
        Some(value) if value == set.mode => ruling.pass(),
        Some(value) if value == set.before => ruling.proved_by(&[set.n]).fail_in_case(fact!(
            "option-of-old-mode",
            "the agent sent the value `{value}` of the option for the mode after the client set the mode \
            `{mode_id}`; expected the same",
            value, mode_id = set.mode;
            method = SET, pointer = "/result/configOptions"
        )),
        _ => {}
    }
}
