//! The subject: its command, its settings and its environment.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::known_calls::KnownCalls;
use super::known_fences::KnownFences;
use super::known_hangs::KnownHangs;
use super::known_openings::KnownOpenings;
use super::known_servers::KnownServers;
use super::reach::Reach;
use super::sandbox::{Cache, Sandbox};
use crate::case::model::{Act, Action, Case, Step, UserPermission};
use crate::case::template::Bindings;
use crate::manual::{AgentFolder, Person};
use crate::profile::places::Places;
use crate::profile::{Controls, Hints, Means, Profile, Setting, person, places};
use crate::requirement::Party;
use crate::run::limits::Limits;
use crate::trace::Observed;
use crate::transport::dial::free_port;
use crate::transport::process::{Environment, Launch};
use crate::transport::relay::Relays;

/// The tested program, and how to start and drive it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The party that the program is.
    pub party: Party,
    /// Whether the user chose exactly the edition of the cases, and not its version.
    pub exact_edition: bool,
    /// Program and arguments, with placeholders such as `{home}` and, for a client, `{agent}`.
    pub command: Vec<String>,
    /// The command or hint that installs the program.
    pub install: Option<String>,
    /// How the program is reached.
    pub reach: Reach,
    /// Environment variables in addition to the inherited ones, with placeholders as in the command.
    pub env: BTreeMap<String, String>,
    /// The directory in which the program starts; this is not the working directory of its sessions.
    pub cwd: PathBuf,
    /// Files that are written into the fresh HOME of each case, by relative path, with placeholders as in the command.
    pub home_files: Vec<(String, String)>,
    /// Whether the program sees the HOME of the caller instead of a fresh one.
    pub keep_home: bool,
    /// Wordings of intents that differ from the default.
    pub prompts: BTreeMap<String, String>,
    /// Whether a prompt ends with a line that repeats its intent as JSON.
    pub intent_line: bool,
    /// The login method of an agent by which the harness logs in where a request needs a login.
    pub login: Option<String>,
    /// Hints for the scripted model.
    pub hints: Hints,
    /// The existing folder that gets every request to the scripted model, next to the traces.
    pub exchanges: Option<PathBuf>,
    /// The folder that all cases of a run share.
    pub cache: Cache,
    /// How the user of a client acts on it.
    pub controls: Controls,
    /// The time limits.
    pub limits: Limits,
    /// The person who operates the client by hand, if any.
    pub person: Option<Person>,
    /// The folder with the agent for a client that a person starts.
    pub agent_folder: Option<Arc<AgentFolder>>,
    /// The kinds of requests that it sends, as observed in the run.
    pub calls: KnownCalls,
    /// The requests that it answers as a fence, as observed in the run.
    pub fences: KnownFences,
    /// Whether its next start is the first one of a run, which may take longer on a busy machine.
    pub is_first_start: bool,
    /// Whether its next run is to confirm a failure.
    pub confirms: bool,
    /// Whether the case is the only one of its conversation, so that a failure counts without another run.
    pub is_sole: bool,
    /// How it takes `initialize`, as observed in the run.
    pub openings: KnownOpenings,
    /// Where it leaves requests unanswered, as observed in the run.
    pub hangs: KnownHangs,
    /// Whether it uses MCP servers, as observed in the run.
    pub servers: KnownServers,
}

/// The word of a command that is replaced by the arguments of the settings.
const ARGS: &str = "{args}";

impl Subject {
    /// Describes an agent with this command line and directory, and defaults for the rest.
    pub fn agent(command: Vec<String>, cwd: PathBuf) -> Self {
        Self {
            party: Party::Agent,
            command,
            install: None,
            reach: Reach::default(),
            env: BTreeMap::new(),
            cwd,
            home_files: Vec::new(),
            keep_home: false,
            prompts: BTreeMap::new(),
            intent_line: true,
            login: None,
            hints: Hints::default(),
            exchanges: None,
            cache: Cache::default(),
            controls: Controls::default(),
            limits: Limits::default(),
            person: None,
            agent_folder: None,
            calls: KnownCalls::default(),
            fences: KnownFences::default(),
            exact_edition: false,
            is_first_start: false,
            confirms: false,
            is_sole: true,
            openings: KnownOpenings::default(),
            hangs: KnownHangs::default(),
            servers: KnownServers::default(),
        }
    }

    /// Describes a client with this command line and directory, and defaults for the rest.
    pub fn client(command: Vec<String>, cwd: PathBuf) -> Self {
        Self { party: Party::Client, ..Self::agent(command, cwd) }
    }

    /// Describes the subject of a profile, started in this directory.
    pub fn of_profile(profile: Profile, cwd: PathBuf) -> Self {
        Self {
            party: profile.kind,
            install: profile.install,
            env: profile.env,
            home_files: profile.home.into_iter().collect(),
            prompts: profile.prompts,
            intent_line: profile.intent_line.unwrap_or(true),
            reach: Reach { url: profile.url, serve: profile.serve, ..Reach::default() },
            login: profile.login,
            hints: profile.hints,
            controls: profile.controls,
            limits: Limits::default().with(&profile.limits),
            ..Self::agent(profile.command, cwd)
        }
    }

    /// Returns the environment of every process of a case, including the commands that the tester runs for the subject.
    /// With the caller's HOME, or folders of a person, everything is inherited, and only the marker of the case is
    /// added.
    pub fn surroundings(&self, sandbox: &Sandbox) -> Environment {
        if self.keep_home || self.agent_folder.is_some() { sandbox.marked() } else { sandbox.environment() }
    }

    /// Makes the folders of a case.
    pub(in crate::run) fn sandbox(&self) -> io::Result<Sandbox> {
        let Some(folder) = &self.agent_folder else { return Sandbox::make() };
        folder.clear_project()?;
        Ok(Sandbox::lasting(folder.path().to_owned(), folder.home().to_owned(), folder.project()))
    }

    /// Creates the relays that a client starts as its agent in this case.
    pub(in crate::run) fn relays(&self, sandbox: &Sandbox) -> io::Result<Relays> {
        match &self.agent_folder {
            Some(folder) => folder.relays(),
            None => Relays::open(sandbox.root(), &self.agent_path(sandbox)),
        }
    }

    /// Returns the path of the program that a client starts as its agent in this case.
    pub fn agent_path(&self, sandbox: &Sandbox) -> PathBuf {
        match &self.agent_folder {
            Some(folder) => folder.agent(),
            None => sandbox.agent(self.controls.agent_name.as_deref().unwrap_or("agent")),
        }
    }

    /// Whether the first prompt is part of the command, the environment or the HOME.
    pub fn prompts_at_start(&self) -> bool {
        self.has_place(&["{prompt}", "{prompt_json}"])
    }

    /// Whether it is an agent that serves, so that its process outlives a connection.
    pub fn is_server(&self) -> bool {
        self.party == Party::Agent && !self.reach.transport.is_stdio()
    }

    /// Whether it is a client that connects to an address instead of starting its agent.
    pub fn is_dialing(&self) -> bool {
        self.party == Party::Client && !self.reach.transport.is_stdio()
    }

    /// Returns what identifies it in a trace: its command line, or the address of a server that runs already.
    pub fn command_line(&self) -> Vec<String> {
        let serves = self.reach.serve.as_ref().filter(|_| self.is_server());
        match serves {
            _ if self.command.is_empty() => self.reach.url.iter().cloned().collect(),
            Some(serve) => serve.clone(),
            None => self.command.clone(),
        }
    }

    /// Whether it is a server that runs already, so that the harness neither starts nor ends it.
    pub fn runs_already(&self) -> bool {
        self.is_server() && self.command.is_empty()
    }

    /// Whether one process of it can serve several cases. A client needs acts for that, and a person operates one case
    /// at a time.
    pub fn shares(&self) -> bool {
        self.person.is_none() && (self.party == Party::Agent || self.controls.can_share())
    }

    /// Whether a setting points it to a scripted model.
    pub fn mentions_model(&self) -> bool {
        self.has_place(&["{model}"])
    }

    fn has_place(&self, places: &[&str]) -> bool {
        let files = self.home_files.iter().map(|(_, text)| text);
        let serve = self.reach.serve.iter().flatten();
        let mut texts = self.command.iter().chain(serve).chain(self.env.values()).chain(files);
        texts.any(|text| places.iter().any(|place| text.contains(place)))
    }

    /// Returns how its user performs an act; a person who operates it by hand performs every act.
    pub fn means(&self, act: &Act) -> Option<Means> {
        let own = self.controls.acts.get(&act.name);
        match (&self.agent_folder, own) {
            (Some(_), None | Some(Means::Line(_) | Means::Keys(_) | Means::Hook(_) | Means::Signal(_))) => {
                Some(Means::Person(person::sentence(act).to_owned()))
            }
            _ => own.cloned(),
        }
    }

    /// Whether the client asks its user about each request for permission: no setting answers them, and an act does.
    pub fn is_asked(&self) -> bool {
        let acts = matches!(self.controls.acts.get("decide"), Some(Means::Line(_) | Means::Keys(_) | Means::Hook(_)));
        acts && self.agent_folder.is_none() && !self.controls.settings.keys().any(|setting| setting.is_permission())
    }

    /// Checks whether an agent that the harness starts as a server gets its port.
    ///
    /// # Errors
    ///
    /// It does not. The message includes the remedy.
    pub fn check_server(&self) -> Result<(), &'static str> {
        if !self.is_server() || self.runs_already() || self.reach.has_port() && self.has_place(&["{port}"]) {
            return Ok(());
        }
        // One process could meet another at a fixed port, since several run at once.
        Err(
            "each conversation starts an agent of its own, so each needs a port of its own: write {port} where the port \
            goes, such as\n  \
            acp-conformance agent --transport http --url http://127.0.0.1:{port}/acp -- my-agent serve --port {port}\n\
            For a fixed address, start the agent yourself, and give --url without its command line",
        )
    }

    /// Checks whether a client can be driven at all.
    ///
    /// # Errors
    ///
    /// The client does not know which agent to start, or no setting makes it send a prompt. The message includes the
    /// remedy.
    pub fn check_client(&self) -> Result<(), String> {
        let is_remote = !self.reach.transport.is_stdio();
        if is_remote && !self.has_place(&["{url}"]) {
            return Err(
                "nothing tells the client where its agent serves: write {url} where the address goes, such as\n  \
                acp-conformance client --transport http -- my-client --url {url} --dir {cwd} {prompt}"
                    .to_owned(),
            );
        }
        if !is_remote && !self.has_place(&["{agent}", "{agent_json}", "{agent_dir}"]) {
            return Err(
                "nothing tells the client which agent to start: write {agent} where its path goes, such as\n  \
                acp-conformance client -- my-client --agent {agent} --dir {cwd} {prompt}"
                    .to_owned(),
            );
        }
        let typed = self.controls.acts.iter().find(|(_, means)| matches!(means, Means::Keys(_)));
        if let Some((act, _)) = typed.filter(|_| !self.controls.terminal) {
            return Err(format!("the act `{act}` is typed, and the client runs on no terminal; add --terminal"));
        }
        if !self.prompts_at_start() && !self.controls.acts.contains_key("prompt") {
            return Err("nothing makes the client prompt its agent: write {prompt} where the text goes, or say how it is done, \
                such as\n  --act prompt='line:{text}'"
                .to_owned());
        }
        Ok(())
    }

    /// Returns the values of the placeholders in this case. `model` is the origin of the scripted model, and `url` the
    /// address at which the tester serves, if there are such.
    ///
    /// # Errors
    ///
    /// File system errors while the folder of the run is made.
    pub fn places(&self, case: &Case, sandbox: &Sandbox, model: Option<&str>, url: Option<&str>) -> io::Result<Places> {
        let mut places = Places::from([
            ("home".to_owned(), sandbox.home().display().to_string()),
            (places::PROTOCOL.to_owned(), format!("v{}", case.edition.major)),
        ]);
        if self.reach.has_port() {
            places.insert(places::PORT.to_owned(), free_port()?.to_string());
        }
        places.extend(model.map(|origin| (places::MODEL.to_owned(), origin.to_owned())));
        if self.has_place(&["{cache}"]) {
            places.insert(places::CACHE.to_owned(), self.cache.folder()?.display().to_string());
        }
        if self.party == Party::Client {
            let agent = self.agent_path(sandbox);
            let dir = agent.parent().unwrap_or(&agent).display().to_string();
            let agent = agent.display().to_string();
            let entry = json!({ "command": agent, "args": [], "env": {} });
            places.extend([
                ("agent_json".to_owned(), entry.to_string()),
                ("agent".to_owned(), agent),
                ("agent_dir".to_owned(), dir),
                (places::URL.to_owned(), url.unwrap_or_default().to_owned()),
                ("cwd".to_owned(), sandbox.workspace().display().to_string()),
                ("prompt_json".to_owned(), Value::from(case.user.prompt.as_str()).to_string()),
                ("prompt".to_owned(), case.user.prompt.clone()),
            ]);
        }
        Ok(places)
    }

    /// Writes the files of HOME.
    pub fn write_home(&self, sandbox: &Sandbox, places: &Places) -> io::Result<()> {
        if self.agent_folder.is_some() {
            // This is the HOME of a person.
            return Ok(());
        }
        let files = self.home_files.iter().map(|(path, text)| (path, places::fill(text, places).as_str().into()));
        Sandbox::write(sandbox.home(), files)
    }

    /// Returns the launch for one case.
    ///
    /// # Errors
    ///
    /// The case needs a setting of the client that no profile describes.
    pub(in crate::run) fn launch(
        &self,
        case: &Case,
        sandbox: &Sandbox,
        places: &Places,
        bindings: &Bindings,
    ) -> Result<Launch, UnknownSetting> {
        let mut environment = self.surroundings(sandbox);
        for (name, value) in &self.env {
            environment = environment.with(name, places::fill(value, places));
        }
        let command = self.reach.serve.as_ref().filter(|_| !self.reach.transport.is_stdio()).unwrap_or(&self.command);
        let filled = |words: &[String]| words.iter().map(|word| places::fill(word, places)).collect::<Vec<_>>();
        let at = command.iter().position(|word| word == ARGS);
        let (before, after) = command.split_at(at.unwrap_or(command.len()));
        let words = [filled(before), self.args(case, bindings)?, filled(after.get(1..).unwrap_or_default())].concat();
        let mut words = words.into_iter();
        Ok(Launch {
            program: words.next().unwrap_or_default().into(),
            args: words.map(Into::into).collect(),
            cwd: self.cwd.to_str().map_or_else(|| self.cwd.clone(), |cwd| places::fill(cwd, places).into()),
            environment,
        })
    }

    /// Returns the arguments that configure a client as the case requires.
    fn args(&self, case: &Case, bindings: &Bindings) -> Result<Vec<String>, UnknownSetting> {
        let mut args = Vec::new();
        if self.party == Party::Agent || self.agent_folder.is_some() {
            return Ok(args);
        }
        let permission = match case.user.permission {
            UserPermission::Allow => Setting::PermissionAllow,
            UserPermission::Reject => Setting::PermissionReject,
            UserPermission::Hold => Setting::PermissionHold,
        };
        // A client allows by default, so a profile need not describe it.
        if !self.is_asked()
            && (permission != Setting::PermissionAllow || self.controls.settings.contains_key(&permission))
        {
            args.extend(self.setting(permission, &Places::new())?);
        }
        if !case.user.mcp_servers.is_empty() {
            let servers: Vec<Value> = case.user.mcp_servers.iter().map(|entry| bindings.interpolate(entry)).collect();
            let places = Places::from([("mcp_servers".to_owned(), Value::from(servers).to_string())]);
            args.extend(self.setting(Setting::McpServers, &places)?);
        }
        if !case.user.directories.is_empty() {
            let directories: Vec<String> = case.user.directories.iter().map(|dir| dir.render(bindings)).collect();
            let places = Places::from([("directories".to_owned(), Value::from(directories).to_string())]);
            args.extend(self.setting(Setting::Directories, &places)?);
        }
        Ok(args)
    }

    /// Whether options and profile describe all acts and settings that a case of a client needs.
    pub fn has_controls_for(&self, case: &Case) -> bool {
        let has = |setting: Setting| self.controls.settings.contains_key(&setting);
        let permission = match case.user.permission {
            _ if self.is_asked() => true,
            UserPermission::Allow => true,
            UserPermission::Reject => has(Setting::PermissionReject),
            UserPermission::Hold => has(Setting::PermissionHold),
        };
        let is_known = |step: &Step| match &step.action {
            Action::Act(act) => self.means(act).is_some(),
            _ => true,
        };
        permission
            && (case.user.mcp_servers.is_empty() || has(Setting::McpServers))
            && (case.user.directories.is_empty() || has(Setting::Directories))
            && case.steps.iter().all(is_known)
    }

    fn setting(&self, setting: Setting, places: &Places) -> Result<Vec<String>, UnknownSetting> {
        let words = self.controls.settings.get(&setting).ok_or(UnknownSetting(setting))?;
        Ok(words.iter().map(|word| places::fill(word, places)).collect())
    }
}

/// A setting that a case needs, although no option and no profile describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no option and no profile describes how to start this client with the setting `{}`", .0.name())]
pub(in crate::run) struct UnknownSetting(Setting);

impl UnknownSetting {
    /// Converts it to the result of a step.
    pub(in crate::run) fn observed(self) -> Observed {
        Observed::SettingUnknown { setting: self.0.name().to_owned() }
    }
}
