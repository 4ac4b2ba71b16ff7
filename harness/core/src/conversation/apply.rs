//! The fold: how each message changes the conversation.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::exchange::opens_connection;
use super::permission::{Decision, Permission};
use super::session::{Ended, ModeSet, Opening, Session, ToolCall, Turn};
use super::work::EndedBy;
use super::{Conversation, Exchange, Terminal};
use crate::conversation::outcome::Outcome;
use crate::conversation::timing::PROMPT_ANSWER;
use crate::protocol::Update;
use crate::requirement::Party;
use crate::trace::{Outcome as StepOutcome, StepEvent, StepKind};
use crate::wire::{Call, Members, RpcId};

impl Conversation {
    /// Takes note that the agent's server refused a request of the client by a status of HTTP, which is its answer.
    pub fn refuse(&mut self, id: RpcId) {
        if let Some(exchange) = self.open.get_mut(&(Party::Client, id)) {
            exchange.deliberate = true;
        }
    }

    /// Takes note that the client may never get the open requests of the agent that belong to these sessions, or to
    /// none.
    pub(crate) fn lose(&mut self, is_lost: impl Fn(Option<&str>) -> bool) {
        let of_agent = self.open.values_mut().filter(|open| open.from == Party::Agent && !open.deliberate);
        for open in of_agent.filter(|open| is_lost(open.session())) {
            Rc::make_mut(open).deliberate = true;
        }
    }

    /// Processes a request or a notification.
    pub(crate) fn apply_call(
        &mut self,
        (n, us): (usize, u64),
        from: Party,
        call: &Call<'_>,
        update: Option<&Update<'_>>,
        deliberate: bool,
    ) {
        self.log_call((n, us), from, call, update);
        if !self.has_sent(from, call.method) {
            self.methods_used.entry(from).or_default().insert(call.method.to_owned());
        }
        let params = call.params.unwrap_or(&Value::Null);
        if from == Party::Client {
            self.learn_invented_session(params);
            self.learn_mcp_servers(params);
        }
        if call.id.is_none() {
            self.notifications.add(n, from, call.method);
        }
        match (call.id, call.method) {
            (Some(id), method) => {
                let exchange = Exchange {
                    n,
                    us,
                    heard: self.heard,
                    from,
                    id: RpcId::new(id),
                    method: method.to_owned(),
                    deliberate,
                    cancel_requested: None,
                    turn: self.turn_of(params),
                    turn_cancelled: self.cancel_of(params),
                    params: params.clone(),
                };
                self.open_exchange(exchange);
            }
            (None, method) if self.is_misdirected(from, method) => {}
            (None, "session/update") => {
                if let Some(update) = update {
                    self.apply_update((n, us), update);
                }
            }
            (None, "session/cancel") => {
                self.apply_cancel(n, params);
                self.note_ending((n, us), EndedBy::Cancel, params);
            }
            (None, "$/cancel_request") => {
                let id = params.member("requestId").map(RpcId::new);
                if let Some(exchange) = id.and_then(|id| self.open.get_mut(&(from, id))) {
                    exchange.cancel_requested = Some(n);
                }
            }
            (None, _) => {}
        }
    }

    fn learn_invented_session(&mut self, params: &Value) {
        const MOST: usize = 64;
        let named = params.text("sessionId").filter(|id| !self.sessions.contains_key(*id));
        if let Some(id) = named.filter(|_| self.invented_sessions.len() < MOST) {
            self.invented_sessions.insert(id.to_owned());
        }
    }

    fn learn_mcp_servers(&mut self, params: &Value) {
        const MOST: usize = 64;
        for entry in params.list("mcpServers").iter() {
            if self.mcp_servers.len() < MOST && !self.mcp_servers.contains(entry) {
                self.mcp_servers.push(entry.clone());
            }
        }
    }

    /// Whether a party calls a method that only the other party calls. That violates a requirement of its own, and
    /// changes nothing.
    fn is_misdirected(&self, from: Party, method: &str) -> bool {
        let methods = &self.edition.methods;
        !methods.knows(from, method) && methods.knows(from.other(), method)
    }

    fn open_exchange(&mut self, exchange: Exchange) {
        let n = exchange.n;
        if exchange.method != "session/delete" {
            exchange.session().map(|id| self.deleted.remove(id));
        }
        if exchange.from == Party::Agent {
            self.note_service_call(&exchange);
        }
        match exchange.method.as_str() {
            method if self.is_misdirected(exchange.from, method) => {}
            method if opens_connection(method) => {
                self.initialize = self.initialize.take().or(Some((n, exchange.params.clone())))
            }
            "session/prompt" => self.apply_prompt(&exchange),
            "session/load" | "session/resume" => self.apply_reopening(&exchange),
            "session/close" => {
                if let Some(turn) = exchange.session().and_then(|id| self.sessions.get_mut(id)?.turn.as_mut()) {
                    turn.closed = Some(n);
                }
                self.note_ending((n, exchange.us), EndedBy::Close, &exchange.params);
            }
            "session/request_permission" => self.apply_permission_request(&exchange),
            _ => {}
        }
        let key = (exchange.from, exchange.id.clone());
        self.answered.remove(&key);
        if self.open.insert(exchange).is_some() {
            self.shared_ids.insert(key);
        }
    }

    fn apply_prompt(&mut self, exchange: &Exchange) {
        let id = exchange.session().unwrap_or_default();
        let is_alone = !exchange.deliberate && self.session(id).is_some_and(|session| session.turn.is_none());
        self.log_intent(id, exchange.n, &exchange.params, is_alone);
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else { return };
        if let Some(turn) = session.turn.as_mut() {
            turn.overlapped = true;
            turn.unanswered.insert(exchange.n);
        }
        if session.turn.is_some() || exchange.deliberate {
            session.uneven = true;
            return;
        }
        session.uneven |= session.loading.is_some();
        session.replay.clear();
        session.prompts += 1;
        session.had_turn_since |= session.was_reopened;
        session.new_tools.clear();
        session.work.begin_prompt(exchange.n);
        session.turn = Some(Turn {
            n: exchange.n,
            number: session.prompts,
            unanswered: BTreeSet::from([exchange.n]),
            after: session.reopened.take().map(|(opening, _)| opening),
            ..Turn::default()
        });
        session.mode_set = None;
        let blocks = exchange.params.member("prompt").and_then(Value::as_array);
        let texts = blocks.into_iter().flatten().filter_map(|block| block.text("text"));
        // Each block is a separate piece: an agent may separate them in any way, and that must not look like another
        // text.
        let text: String = texts.map(|text| format!("{text}\n")).collect();
        session.last_chunk = None;
        session.say_prompt(text);
    }

    fn apply_reopening(&mut self, exchange: &Exchange) {
        let Some(id) = exchange.session() else { return };
        let opening = if exchange.method == "session/load" { Opening::Load } else { Opening::Resume };
        let fresh = Session::new(opening, exchange.n, &exchange.params);
        let earlier = self.earlier_sessions.remove(id);
        let known = self.sessions.entry(id.to_owned()).or_insert_with(|| earlier.unwrap_or(fresh));
        let during_load = known.loading.is_some();
        known.uneven |= during_load || known.resuming.is_some();
        match opening {
            Opening::Load => known.loading = Some(exchange.n),
            _ => known.resuming = Some(exchange.n),
        }
        // An answered close ends no work on a later prompt.
        known.work.was_ended_early &= known.closed.is_none();
        known.work.begin_resume(known.closed.is_none() && !known.was_ended);
        (known.closed, known.closed_us) = (None, None);
        known.tools.values_mut().for_each(|tool| tool.reported = false);
        if opening == Opening::Load && !during_load {
            // The replay repeats the whole history, so its tool calls are checked from the start.
            let tools = std::mem::take(&mut known.tools);
            known.earlier_tools = tools.into_iter().map(|(id, tool)| (id, (tool.status, tool.turn))).collect();
            known.compactions.clear();
            known.replay.clear();
            known.replayed_tools.clear();
            known.message_ids.clear();
            known.finished_messages.clear();
            known.last_chunk = None;
        }
    }

    fn apply_cancel(&mut self, n: usize, params: &Value) {
        let id = params.text("sessionId");
        let Some(session) = id.and_then(|id| self.sessions.get_mut(id)) else { return };
        match session.turn.as_mut() {
            Some(turn) => {
                turn.cancelled = turn.cancelled.or(Some(n));
                if turn.overlapped {
                    // Each request may belong to a prompt that is still running.
                    return;
                }
                for exchange in self.open.values_mut().filter(|exchange| exchange.turn == Some(turn.n)) {
                    let exchange = Rc::make_mut(exchange);
                    exchange.turn_cancelled = exchange.turn_cancelled.or(Some(n));
                }
            }
            None => session.idle_cancel = Some(n),
        }
    }

    /// Returns the event of the prompt whose turn runs in the session that the params name.
    fn turn_of(&self, params: &Value) -> Option<usize> {
        let session = params.text("sessionId").and_then(|id| self.session(id))?;
        Some(session.turn.as_ref()?.n)
    }

    fn apply_permission_request(&mut self, exchange: &Exchange) {
        let Some(call) = exchange.params.member("toolCall") else { return };
        self.embed_terminals(exchange.n, call);
        self.note_tool_report(exchange.n);
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else { return };
        let Some(id) = call.text("toolCallId") else { return };
        let tool = session.tool(exchange.n, id);
        tool.learn(call);
        tool.permissions.push(Permission { n: exchange.n, answer: None });
    }

    /// Processes an answer to an open request, and closes the exchange.
    pub(crate) fn apply_response(&mut self, now: (usize, u64), from: Party, id: &RpcId, outcome: Outcome<'_>) {
        let (n, us) = now;
        let key = (from.other(), id.clone());
        let Some(exchange) = self.open.remove(&key) else { return };
        self.log_response(now, &exchange, outcome);
        self.answered.insert(key, n);
        *self.answers.entry(from).or_default() += 1;
        let latest = self.latest_answered.entry(exchange.from).or_default();
        *latest = exchange.n.max(*latest);
        self.notifications.settle(exchange.n, exchange.from);
        if self.in_between((exchange.us, exchange.heard), us) < PROMPT_ANSWER {
            self.replied.entry((from, super::kind_of(&exchange.method).to_owned())).or_insert(n);
        }
        if exchange.from == Party::Agent {
            self.note_service_answer(now, &exchange, outcome);
            if let Outcome::Result(_) = outcome {
                self.served.insert(exchange.method.clone());
            }
        }
        match (exchange.method.as_str(), outcome) {
            (method, _) if self.is_misdirected(exchange.from, method) => {}
            (method, Outcome::Result(result)) if opens_connection(method) && self.initialized.is_none() => {
                self.version = result.member("protocolVersion").and_then(Value::as_u64);
                self.other_version = exchange.other_version(self.edition, outcome);
                self.initialized = Some((n, result.clone()));
            }
            (method, Outcome::Error(_)) if opens_connection(method) && self.initialized.is_none() => {
                self.other_version = exchange.other_version(self.edition, outcome);
            }
            ("session/new", Outcome::Result(result)) => {
                if let Some(id) = result.text("sessionId") {
                    let mut session = Session::new(Opening::New, n, &exchange.params);
                    session.learn_state(n, result);
                    self.sessions.insert(id.to_owned(), session);
                }
            }
            ("session/load" | "session/resume", outcome) => self.apply_reopened(n, &exchange, outcome),
            ("session/prompt", outcome) => self.apply_turn_end(now, &exchange, outcome),
            ("session/close", Outcome::Result(_)) => {
                if let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
                    (session.closed, session.closed_us) = (Some(n), Some(us));
                    session.was_ended = true;
                    session.reopened = None;
                }
                self.note_closing(n, exchange.session().unwrap_or_default());
            }
            ("session/delete", Outcome::Result(_)) => {
                if let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
                    session.reopened = None;
                    session.was_ended = true;
                    session.deleted = true;
                }
                self.deleted.extend(exchange.session().map(|id| (id.to_owned(), n)));
            }
            ("session/set_mode", Outcome::Result(_)) => {
                let wanted = exchange.params.member("modeId").cloned().unwrap_or_default();
                self.learn_mode(now, &exchange, wanted);
            }
            ("session/set_config_option", Outcome::Result(result)) => {
                if let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
                    session.learn_state(n, result);
                    session.learn_option(&exchange);
                }
            }
            ("session/request_permission", outcome) => {
                self.apply_permission_answer(n, &exchange, outcome);
                self.note_question_answer(n, &exchange, outcome);
            }
            ("elicitation/create", outcome) => {
                self.note_question_answer(n, &exchange, outcome);
                self.note_form_answer(n, &exchange, outcome);
            }
            ("terminal/create", Outcome::Result(result)) => self.apply_terminal(n, &exchange, result),
            _ => {}
        }
    }

    fn learn_mode(&mut self, (n, us): (usize, u64), exchange: &Exchange, mode: Value) {
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else { return };
        let Some(modes) = session.modes.as_mut().and_then(Value::as_object_mut) else { return };
        let text = |mode: Option<&Value>| mode.and_then(Value::as_str).unwrap_or_default().to_owned();
        let after_another = session.mode_set.is_some();
        let before = text(modes.member("currentModeId"));
        (session.was_set, session.chosen_mode) = (true, Some(text(Some(&mode))));
        session.mode_set = Some(ModeSet { n, us, mode: text(Some(&mode)), before, after_another });
        modes.insert("currentModeId".to_owned(), mode);
    }

    fn apply_turn_end(&mut self, (n, us): (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else { return };
        let Some(turn) = session.turn.as_mut() else { return };
        if !turn.unanswered.remove(&exchange.n) || !turn.unanswered.is_empty() {
            turn.note_answer(exchange.n, outcome);
            return;
        }
        session.work.learn_receipt(n, exchange, outcome);
        self.holds_prompts |= session.work.held(exchange.n) && matches!(outcome, Outcome::Result(_));
        let (prompt, overlapped) = (turn.n, turn.overlapped);
        let cancelled = session.turn.take().and_then(|turn| turn.cancelled);
        let reason = match outcome {
            // The end of an overlapped turn does not belong to a single prompt.
            _ if overlapped => None,
            Outcome::Result(result) => self.edition.adapter.turn_end("session/prompt", result).map(str::to_owned),
            Outcome::Error(_) => None,
        };
        session.uneven |= reason.as_deref() != Some("end_turn");
        if self.edition.adapter.response_ends_turn() && reason.as_deref() == Some("end_turn") {
            session.model.complete((n, us));
        }
        session.served_unset |= reason.is_some() && !session.was_set;
        session.idle_cancel = None;
        session.last_chunk = None;
        session.ended = Some(Ended { prompt, n, reason, cancelled });
    }

    fn apply_permission_answer(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        let decision = Decision::of(&exchange.params, outcome);
        let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) else {
            // Any turn may have sent the request under a wrong name.
            let turns = self.sessions.values_mut().filter_map(|session| session.turn.as_mut());
            turns.for_each(|turn| turn.note_permission(n, decision));
            return;
        };
        if let Some(turn) = session.turn.as_mut() {
            turn.note_permission(n, decision);
        }
        if matches!(decision, Decision::Allowed | Decision::Rejected) {
            session.selected.get_or_insert(n);
        }
        session.has_denied |= decision != Decision::Allowed;
        let id = exchange.params.member("toolCall").and_then(|call| call.text("toolCallId"));
        let Some(tool) = id.and_then(|id| session.tools.get_mut(id)) else { return };
        if let Some(permission) = tool.permissions.iter_mut().find(|permission| permission.n == exchange.n) {
            permission.answer = Some((n, decision));
        }
    }

    /// Records that the user did not accept a form or a page, which may end a turn like a refused permission.
    fn note_form_answer(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        let accepted = matches!(outcome, Outcome::Result(it) if it.member("action") == Some(&Value::from("accept")));
        let session = exchange.session();
        let named = self.sessions.iter_mut().filter(|(id, _)| session.is_none_or(|session| session == id.as_str()));
        for (_, session) in named.filter(|_| !accepted) {
            session.has_denied = true;
            if let Some(turn) = session.turn.as_mut() {
                turn.permission_refused = turn.permission_refused.or(Some(n));
            }
        }
    }

    fn apply_terminal(&mut self, n: usize, exchange: &Exchange, result: &Value) {
        let (Some(id), Some(session)) = (result.text("terminalId"), exchange.session()) else {
            return;
        };
        let turn = self.session(session).and_then(|session| Some(session.turn.as_ref()?.n));
        let terminal = Terminal {
            session: session.to_owned(),
            created: n,
            shares_id: self.terminals.get(id).is_some_and(|other| other.session != session || other.shares_id),
            turn,
            limit: exchange.params.member("outputByteLimit").and_then(Value::as_u64),
            ..Terminal::default()
        };
        self.terminals.insert(id.to_owned(), terminal);
        self.unreleased.insert(id.to_owned());
    }

    fn apply_update(&mut self, (n, us): (usize, u64), update: &Update<'_>) {
        self.embed_terminals(n, update.body);
        self.learn_child(n, update);
        if matches!(update.variant, "tool_call" | "tool_call_update") {
            self.note_tool_report(n);
        }
        let content = self.edition.adapter.is_turn_content(update.variant);
        let Some(mut session) = self.sessions.get_mut(update.session) else { return };
        let fresh = session.prompts == 0 && session.opening == Opening::New;
        if content && fresh && session.loading.is_none() && session.resuming.is_none() {
            for turn in self.sessions.values_mut().filter_map(|session| session.turn.as_mut()) {
                turn.strayed = turn.strayed.or(Some(n));
            }
            let Some(again) = self.sessions.get_mut(update.session) else { return };
            session = again;
        }
        // A plan with an id is output as well, but may change at any time.
        let output = content && update.variant != "user_message_chunk" || update.variant == "plan_update";
        if let Some(turn) = session.turn.as_mut().filter(|_| output) {
            turn.first_output = turn.first_output.or(Some(n));
            turn.wrote_message |= update.variant == "agent_message_chunk";
        }
        if content {
            session.learn_replay(update);
        }
        let is_replay = session.loading.is_some() || session.resuming.is_some();
        if (session.turn.is_some() || !is_replay) && !session.model.is_uncertain {
            session.model.learn_update(update, output);
        }
        if !self.edition.adapter.response_ends_turn() {
            // The end of the connection also ends work, so an idle state after it does not show that the agent obeyed a
            // cancel.
            let disobeyed = self.shutting_down.and_then(|_| session.work.ending.clone());
            session.work.learn((n, us), update);
            session.work.history.learn(update, session.resuming.is_some());
            session.work.ending = disobeyed.or(session.work.ending.take());
        }
        match update.variant {
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => session.learn_chunk(update),
            "tool_call" | "tool_call_update" => session.learn_tool(n, update),
            "available_commands_update" => (session.commands, session.commands_due) = (Some(n), None),
            "compaction_update" | "compaction_summary_chunk" => session.learn_compaction(update.body),
            "current_mode_update" => {
                (session.mode_set, session.chosen_mode) = (None, None);
                let mode = update.body.member("currentModeId").cloned().unwrap_or_default();
                if let Some(modes) = session.modes.as_mut().and_then(Value::as_object_mut) {
                    modes.insert("currentModeId".to_owned(), mode);
                }
            }
            "state_update" if update.body.text("stopReason") == Some("end_turn") => session.model.complete((n, us)),
            "config_option_update" => {
                session.chosen_mode = None;
                session.learn_state(n, update.body);
            }
            _ => {}
        }
    }

    fn embed_terminals(&mut self, n: usize, body: &Value) {
        for id in body.list("content").iter().filter_map(|item| item.text("terminalId")) {
            if let Some(terminal) = self.terminals.get_mut(id) {
                terminal.embedded = terminal.embedded.or(Some(n));
            }
        }
    }
}

impl Conversation {
    /// Records a report of a tool call. Only the steps of a case refer to them, so a long recording keeps none.
    pub(crate) fn note_tool_report(&mut self, n: usize) {
        if self.whole {
            self.tool_reports.insert(n);
        }
    }

    /// Processes the runner's record of a step: timeouts and answered fences.
    pub(crate) fn apply_step(&mut self, (n, us): (usize, u64), step: &StepEvent) {
        match (step.kind, step.outcome) {
            (StepKind::Must | StepKind::Fence, StepOutcome::TimedOut) => {
                self.timed_out.extend(step.events.iter().map(|&request| (request, n)));
            }
            (StepKind::Fence, StepOutcome::Done) => {
                (self.fence, self.fence_us) = (Some(n), us);
                self.sessions.values_mut().for_each(|session| session.work.learn_fence());
            }
            _ => {}
        }
    }
}

impl Session {
    /// Reads modes and options from any object that may contain them.
    pub(super) fn learn_state(&mut self, n: usize, value: &Value) {
        if let Some(modes) = value.member("modes").filter(|modes| modes.is_object()) {
            if self.modes.is_none() {
                self.first_mode = modes.text("currentModeId").map(str::to_owned);
            }
            self.modes = Some(modes.clone());
        }
        if let Some(options) = value.member("configOptions").and_then(Value::as_array) {
            self.note_dropped(n, options);
            self.options = Some(options.clone());
        }
    }

    fn learn_chunk(&mut self, update: &Update<'_>) {
        let id = update.body.text("messageId");
        let last = self.last_chunk.as_ref().map(|(variant, id)| (variant.as_str(), id.as_deref()));
        // Most chunks continue the message of the previous one.
        if last != Some((update.variant, id)) {
            if let Some((_, Some(last))) = last.filter(|(_, last)| *last != id) {
                self.finished_messages.insert(last.to_owned());
            }
            self.pause();
            self.last_chunk = Some((update.variant.to_owned(), id.map(str::to_owned)));
        }
        if let Some(id) = id.filter(|id| !self.message_ids.contains_key(*id)) {
            self.message_ids.insert(id.to_owned(), (update.variant.to_owned(), self.prompts));
        }
        // Outside turns, the agent repeats history, or sends updates that no replay has to contain.
        if self.turn.is_some()
            && self.loading.is_none()
            && update.variant == "agent_message_chunk"
            && let Some(text) = update.text()
        {
            self.say(update.variant, text);
        }
    }

    /// Processes a report on a compaction; the first one creates it.
    fn learn_compaction(&mut self, report: &Value) {
        let Some(id) = report.text("compactionId") else { return };
        // A replay need not contain the part that a summary replaced.
        self.uneven |= self.loading.is_none();
        let known = self.compactions.entry(id.to_owned()).or_insert_with(|| "in_progress".to_owned());
        match report.member("status") {
            Some(Value::String(status)) => known.clone_from(status),
            // "`null` resets it to `in_progress`".
            Some(Value::Null) => "in_progress".clone_into(known),
            _ => {}
        }
    }

    fn learn_tool(&mut self, n: usize, update: &Update<'_>) {
        let Some(id) = update.body.text("toolCallId") else { return };
        self.pause();
        let tool = self.tool(n, id);
        tool.announced |= update.variant == "tool_call";
        tool.reported = true;
        tool.learn(update.body);
        if let Some(turn) = self.turn.as_mut()
            && !turn.tools.contains(id)
        {
            turn.tools.insert(id.to_owned());
        }
    }
}

impl ToolCall {
    fn learn(&mut self, report: &Value) {
        if let Some(title) = report.text("title") {
            title.clone_into(&mut self.title);
        }
        if let Some(status) = report.text("status") {
            status.clone_into(&mut self.status);
            self.has_status = true;
            self.was_in_progress |= status == "in_progress";
        }
        if let Some(kind) = report.text("kind") {
            self.kind = Some(kind.to_owned());
        }
        for list in ["locations", "content"] {
            let items = report.get(list).and_then(Value::as_array).into_iter().flatten();
            self.paths.extend(items.filter_map(|item| Some(item.text("path")?.to_owned())));
        }
        let input = report.member("rawInput").and_then(Value::as_object);
        let texts = input.into_iter().flatten().filter_map(|(_, value)| value.as_str());
        self.paths.extend(texts.filter(|text| text.starts_with('/')).map(str::to_owned));
    }
}
