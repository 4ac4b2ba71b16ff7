//! Lowers the steps that only the case of a client can have: acts of its user, and orders to the process of its agent.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::case::check::Checker;
use crate::case::file::{AgentProcessFile, PageFile};
use crate::case::model::{Act, Action, AgentProcess, UserPermission};
use crate::case::vocabulary::ACTS;
use crate::diagnostic::did_you_mean;
use crate::document::Spot;
use crate::requirement::Party;

impl Checker<'_> {
    /// Lowers an act of the user.
    pub fn act(&mut self, spot: &Spot<'_>, name: &str) {
        if !self.of_a_client(spot, "an agent has no user who could act on it") {
            return;
        }
        let Some((_, known)) = ACTS.into_iter().find(|(act, _)| *act == name) else {
            let names = ACTS.map(|(act, _)| act);
            let problem = spot.down("act").error("case::unknown-act", format!("unknown act `{name}`"));
            self.problems.push(problem.maybe_help(did_you_mean(name, "the acts are", &names)));
            return;
        };
        let mut arguments = spot.value().and_then(Value::as_object).cloned().unwrap_or_default();
        arguments.remove("act");
        self.arguments(spot, name, known, &arguments);
        if matches!(name, "decide" | "answer") && self.user.permission != UserPermission::Hold {
            let problem = spot.down("act").error("case::no-decision", "no question to the user is left open");
            self.problems.push(problem.help("write `user: { permission: hold }` above the transcript"));
        }
        let act = Act { name: name.to_owned(), arguments };
        self.push(spot, Action::Act(act), Vec::new(), None);
    }

    /// Checks the arguments of an act, and the names in them; those of `known` with `?` are optional.
    fn arguments(&mut self, spot: &Spot<'_>, act: &str, known: &[&str], given: &Map<String, Value>) {
        let names: Vec<_> = known.iter().map(|name| name.trim_start_matches('?')).collect();
        let mut strange = false;
        for (name, value) in given {
            let here = spot.down(name);
            if names.contains(&name.as_str()) {
                self.names_in(&here, value);
                continue;
            }
            strange = true;
            let problem = here.key_error("case::unknown-argument", format!("the act `{act}` has no argument `{name}`"));
            let help = did_you_mean(name, "its arguments are", &names);
            self.problems.push(problem.help(help.unwrap_or_else(|| "it takes no arguments".to_owned())));
        }
        // An argument under a wrong name is not also missing.
        for name in known.iter().filter(|name| !strange && !name.starts_with('?') && !given.contains_key(**name)) {
            let problem = spot.error("case::missing-argument", format!("the act `{act}` lacks its `{name}`"));
            self.problems.push(problem.help(format!("write `user: {{ act: {act}, {} }}`", sketch(known))));
        }
    }

    /// Lowers a check of the page's visits.
    pub fn page(&mut self, spot: &Spot<'_>, check: &PageFile) {
        if !self.of_a_client(spot, "only a client is asked to visit a page") {
            return;
        }
        if !self.scope.check_text(spot, "<page>").is_empty() {
            let problem = spot.key_error("case::no-page", "this case has no page");
            self.problems.push(problem.help("write `agent: { page: true }` above the transcript"));
        }
        let decides = self.decides(spot, &check.decides);
        self.push(spot, Action::Page(check.visited), decides, None);
    }

    /// Lowers an order to the process that the client takes for its agent.
    pub fn agent_process(&mut self, spot: &Spot<'_>, order: AgentProcessFile) {
        if !self.of_a_client(spot, "the agent is judged here, and ends as it likes") {
            return;
        }
        let order = match order {
            AgentProcessFile { stderr: Some(text), .. } => AgentProcess::Stderr(self.template(spot, "stderr", &text)),
            AgentProcessFile { stdout: Some(text), .. } => AgentProcess::Stdout(self.template(spot, "stdout", &text)),
            AgentProcessFile { close: Some(_), .. } => AgentProcess::CloseStdout,
            AgentProcessFile { exit: Some(code), .. } => AgentProcess::Exit(code),
            AgentProcessFile { kill: Some(_), .. } => AgentProcess::Kill,
            AgentProcessFile { .. } => AgentProcess::Linger,
        };
        self.push(spot, Action::AgentProcess(order), Vec::new(), None);
    }

    /// Lowers the wait for a login in a terminal.
    pub fn login(&mut self, spot: &Spot<'_>, decides: Vec<String>, within: Option<Duration>) {
        if self.of_a_client(spot, "an agent is started by the tester, which logs in nowhere") {
            self.push(spot, Action::Login, decides, within);
        }
    }

    /// Whether the subject is a client; reports an error at the step if not.
    fn of_a_client(&mut self, spot: &Spot<'_>, why: &str) -> bool {
        if self.subject == Party::Agent {
            let key = spot.pointer.rsplit('/').next().unwrap_or_default();
            let problem = spot.key_error("case::misplaced-step", format!("`{key}` cannot stand here: {why}"));
            self.problems.push(problem.help("it is a step of a case with `subject: client`"));
        }
        self.subject == Party::Client
    }
}

/// Returns the arguments of an act with a placeholder for each value.
fn sketch(known: &[&str]) -> String {
    let needed = known.iter().filter(|name| !name.starts_with('?'));
    needed.map(|name| format!("{name}: …")).collect::<Vec<_>>().join(", ")
}
