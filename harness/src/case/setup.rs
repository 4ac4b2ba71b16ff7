//! Lowers the setup of the tester, and the acts and settings of the client's user.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::case::check::Checker;
use crate::case::file::{AnswerFile, SetupFile, UserFile};
use crate::case::model::{FixedAnswer, TesterSetup, UserSetup};
use crate::case::template::Template;
use crate::case::vocabulary::PayloadKind;
use crate::document::{Spot, child};
use crate::protocol::{Edition, Feature};
use crate::requirement::Party;

/// The remedy for an invalid value in the setup, unless it is a mistake.
const ON_PURPOSE: &str =
    "an answer that breaks the protocol on purpose is a line of the transcript with `illegal: true`";

impl Checker<'_> {
    /// Lowers the setup of the tester; only that of its own party is allowed.
    ///
    /// `capabilities` are those that a context declares instead of the case.
    pub fn setup(
        &mut self,
        client: Option<SetupFile>,
        agent: Option<SetupFile>,
        capabilities: Option<Map<String, Value>>,
    ) -> TesterSetup {
        let tester = self.subject.other();
        let (own, foreign) = if tester == Party::Client { (client, agent) } else { (agent, client) };
        let root = Spot::root(self.document);
        if foreign.is_some() {
            let subject = self.subject;
            let message =
                format!("`{subject}:` tells how the tester plays the {subject}, but the {subject} is judged here");
            let problem = root.down(subject).key_error("case::wrong-setup", message);
            self.problems.push(problem.help(format!("the setup of this case is called `{tester}:`")));
        }
        let own = own.unwrap_or_default();
        let spot = root.down(tester);
        self.keys_of_one_side(&spot, &own);
        if tester == Party::Agent {
            self.agent_samples(&spot, &own);
        }
        if own.page.is_some() {
            self.scope.bind("page");
        }
        let capabilities = capabilities.map(Value::Object).or(own.capabilities);
        self.capabilities = capabilities.unwrap_or_else(|| default_capabilities(tester, self.vocabulary.edition));
        TesterSetup {
            capabilities: self.capabilities.clone(),
            info: own.info,
            permission: own.permission.unwrap_or_default(),
            answers: self.answers(&spot.down("answers"), own.answers),
            mcp: self.mcp_servers(&spot.down("mcp"), own.mcp.unwrap_or_default()),
            page: own.page.is_some(),
            by_hand: BTreeSet::new(),
            auth_methods: own.auth_methods.unwrap_or_default(),
            session: own.session.unwrap_or_default(),
            wire: own.wire,
        }
    }

    fn keys_of_one_side(&mut self, spot: &Spot<'_>, own: &SetupFile) {
        let tester = self.subject.other();
        for (given, key, only) in [
            (own.permission.is_some(), "permission", Party::Client),
            (own.mcp.is_some(), "mcp", Party::Client),
            (own.page.is_some(), "page", Party::Agent),
            (own.info.is_some(), "info", Party::Agent),
            (own.auth_methods.is_some(), "auth-methods", Party::Agent),
            (own.session.is_some(), "session", Party::Agent),
        ] {
            if given && tester != only {
                let problem =
                    spot.down(key).key_error("case::misplaced-key", format!("the {tester} has no `{key}` here"));
                self.problems.push(problem.help(format!("`{key}` is for a tester that plays the {only}")));
            }
        }
    }

    /// Inserts an agent's declarations into the results that contain them on the wire, and compares those with the
    /// schema.
    fn agent_samples(&mut self, spot: &Spot<'_>, own: &SetupFile) {
        let edition = self.vocabulary.edition;
        let members = [
            ("capabilities", edition.adapter.capabilities_member(Party::Agent), own.capabilities.clone()),
            ("info", edition.adapter.info_member(Party::Agent), own.info.clone()),
            ("auth-methods", "authMethods", own.auth_methods.clone().map(Value::Array)),
        ];
        for (key, member, value) in members {
            let Some(value) = value else { continue };
            let here = spot.down(key);
            self.names_in(&here, &value);
            let sample = json!({ "protocolVersion": edition.major, member: value });
            self.part_misfits(&here, Party::Agent, PayloadKind::Result("initialize"), &sample, &child("", member));
        }
        if let Some(session) = &own.session {
            self.session_members(&spot.down("session"), session);
        }
    }

    fn session_members(&mut self, spot: &Spot<'_>, session: &Map<String, Value>) {
        for (key, value) in session {
            let here = spot.down(key);
            if key == "sessionId" {
                let problem = here.key_error("case::misplaced-key", "the tester chooses the ids of its sessions");
                let help = "leave it out; where the id matters, the transcript answers session/new";
                self.problems.push(problem.help(help));
                continue;
            }
            self.names_in(&here, value);
            let sample = json!({ "sessionId": "sample", key.as_str(): value });
            self.part_misfits(&here, Party::Agent, PayloadKind::Result("session/new"), &sample, &child("", key));
        }
    }

    /// Compares the part of a sample at a JSON pointer with the schema; the rest of the sample does not come from the
    /// file.
    fn part_misfits(&mut self, spot: &Spot<'_>, sender: Party, payload: PayloadKind<'_>, sample: &Value, part: &str) {
        for misfit in self.misfits_of(sender, payload, sample) {
            let Some(at) = misfit.at.strip_prefix(part) else { continue };
            let problem = spot.deep(at).error("case::invalid-message", misfit.message);
            self.problems.push(if sender == self.subject { problem } else { problem.help(ON_PURPOSE) });
        }
    }

    /// Checks the names in a value of the tester.
    pub fn names_in(&mut self, spot: &Spot<'_>, value: &Value) {
        self.problems.extend(self.scope.check_said(spot, value));
    }

    fn answers(&mut self, spot: &Spot<'_>, answers: BTreeMap<String, AnswerFile>) -> BTreeMap<String, FixedAnswer> {
        let mut lowered = BTreeMap::new();
        for (method, answer) in answers {
            let here = spot.down(&method);
            if let Some(problem) = self.call(&here, self.subject, &method, Some(true), true) {
                self.problems.push(problem);
            }
            let answer = match (answer.result, answer.error) {
                (Some(result), _) => FixedAnswer::Result(result),
                (None, error) => FixedAnswer::Error(error.unwrap_or_default()),
            };
            let (key, payload, value) = match &answer {
                FixedAnswer::Result(result) => ("result", PayloadKind::Result(&method), result),
                FixedAnswer::Error(error) => ("error", PayloadKind::Error, error),
            };
            let said = here.down(key);
            self.names_in(&said, value);
            self.misfits(&said, payload, value, ON_PURPOSE);
            lowered.insert(method, answer);
        }
        lowered
    }

    /// Lowers the acts and settings of the client's user.
    pub fn user(&mut self, user: Option<UserFile>) {
        let Some(user) = user else { return };
        let spot = Spot::root(self.document).down("user");
        if self.subject == Party::Agent {
            let message = "`user:` tells what the user of a client does, but an agent is judged here";
            let problem = spot.key_error("case::wrong-setup", message);
            self.problems.push(problem.help("what the user says to an agent is a session/prompt of the transcript"));
            return;
        }
        let servers = spot.down("mcp-servers");
        for (i, server) in user.mcp_servers.iter().enumerate() {
            let here = servers.down(i);
            self.names_in(&here, server);
            let sample = json!({ "cwd": "/sample", "mcpServers": [server] });
            let payload = PayloadKind::Params("session/new");
            self.part_misfits(&here, Party::Client, payload, &sample, "/mcpServers/0");
        }
        let directories = spot.down("directories");
        for (i, directory) in user.directories.iter().enumerate() {
            self.absolute(&directories.down(i), directory);
        }
        let usual = UserSetup::default();
        self.user = UserSetup {
            prompt: user.prompt.unwrap_or(usual.prompt),
            permission: user.permission.unwrap_or(usual.permission),
            mcp_servers: user.mcp_servers,
            directories: user.directories.iter().map(|directory| Template::parse(directory)).collect(),
        };
    }

    /// Checks a path: it must be absolute, and its names must have values.
    pub fn absolute(&mut self, spot: &Spot<'_>, path: &str) {
        if !path.starts_with(['/', '<']) {
            let problem = spot.error("case::relative-path", format!("`{path}` is not absolute"));
            self.problems.push(problem.help(format!("did you mean `<cwd>/{path}`?")));
        }
        self.problems.extend(self.scope.check_text(spot, path));
    }
}

/// What the tester declares if the case does not say: as a client its services, which only version 1 has, as an agent
/// nothing.
pub(crate) fn default_capabilities(tester: Party, edition: &Edition) -> Value {
    let serves = |method| edition.adapter.capability(tester, Feature::Method(method)).is_some();
    match tester {
        Party::Client if serves("fs/read_text_file") => {
            json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true})
        }
        Party::Agent if serves("session/new") => json!({"session": {}}),
        Party::Client | Party::Agent => json!({}),
    }
}
