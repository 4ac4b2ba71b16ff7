//! Lowers a profile to plain data, and reports all of its mistakes.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::file::{MeansFile, ModelFile, ProfileFile, SettingsFile, ToolsFile};
use super::hints::{Hints, Role};
use super::means::{HOW_TO_NAME_A_SESSION, names_no_session, place_help};
use super::{Controls, Means, Profile, RunSettings, Setting, places};
use crate::case::file::LimitsFile;
use crate::case::{ACTS, INTENTS};
use crate::diagnostic::{self, Diagnostic, did_you_mean, nearest};
use crate::document::{Document, Spot};
use crate::expected;
use crate::requirement::{Catalogue, Party};
use crate::source::Span;

/// Lowers a file with a valid structure. There is a profile only without errors.
pub(super) fn lower(
    file: ProfileFile,
    document: &Document,
    catalogue: &Catalogue,
) -> (Option<Profile>, Vec<Diagnostic>) {
    let root = Spot::root(document);
    let mut problems = Vec::new();
    problems.extend(misplaced_keys(&root, file.kind));
    paths(&root, &file, &mut problems);
    start_places(&root, &file, &mut problems);
    let prompts = root.down("prompts");
    problems.extend(file.prompts.keys().filter_map(|intent| unknown_intent(&prompts.down(intent), intent)));
    stand_ins(&root.down("model").down("intents"), &file.model, &mut problems);
    let expected = expected::lower(&root.down("expected"), file.expected, Some(file.kind), catalogue, &mut problems);
    let terminal = file.terminal.unwrap_or(false);
    let controls = Controls {
        acts: acts(&root.down("acts"), file.acts, terminal, &mut problems),
        settings: settings(&root.down("settings"), file.settings, &mut problems),
        agent_name: file.agent_name,
        terminal,
        exit_codes: exit_codes(&root.down("exit-codes"), file.exit_codes, &mut problems),
        share: file.share,
    };
    if file.share == Some(true) && file.profile.is_none() && file.kind == Party::Client && !controls.can_share() {
        let problem =
            root.down("share").error("profile::share", "its user cannot begin another case in the same process");
        problems
            .push(problem.help("`prompt` and `new-session` have to be lines or keys, and `new-session` needs `{cwd}`"));
    }
    let command = file.command.unwrap_or_default();
    let program = command.first().map(|program| program.rsplit('/').next().unwrap_or(program).to_owned());
    let name = file.name.or_else(|| file.profile.clone()).or(program).unwrap_or_default();
    let profile = Profile {
        title: file.title.unwrap_or_else(|| name.clone()),
        name,
        kind: file.kind,
        homepage: file.homepage,
        install: file.install,
        version: file.version,
        command,
        serve: file.serve,
        url: file.url,
        env: file.env,
        home: file.home,
        limits: file.limits.as_ref().map(LimitsFile::overrides).unwrap_or_default(),
        prompts: file.prompts,
        intent_line: file.intent_line,
        login: file.login,
        hints: Hints {
            tools: tools(file.model.tools),
            intents: file.model.intents,
            auxiliary: file.model.auxiliary,
            mcp: file.model.mcp,
        },
        expected,
        controls,
        base: file.profile,
        dir: None,
        run: RunSettings {
            cases: file.cases,
            formats: file.formats,
            jobs: file.jobs,
            strict: file.strict,
            allow_incomplete: file.allow_incomplete,
        },
    };
    diagnostic::sort(&mut problems);
    let sound = !problems.iter().any(Diagnostic::is_error);
    (sound.then_some(profile), problems)
}

/// Reports an unknown intent that is used as a key.
fn unknown_intent(spot: &Spot<'_>, intent: &str) -> Option<Diagnostic> {
    (!INTENTS.contains(&intent)).then(|| {
        let problem = spot.key_error("profile::unknown-intent", format!("unknown intent `{intent}`"));
        problem.maybe_help(did_you_mean(intent, "the intents are", &INTENTS))
    })
}

/// Checks the replacements of intents.
fn stand_ins(root: &Spot<'_>, model: &ModelFile, problems: &mut Vec<Diagnostic>) {
    for (intent, instead) in &model.intents {
        let spot = root.down(intent);
        problems.extend(unknown_intent(&spot, intent));
        let named = instead.get("intent").and_then(|name| name.as_str());
        let help = match named {
            Some(named) if INTENTS.contains(&named) => continue,
            Some(named) => did_you_mean(named, "the intents are", &INTENTS),
            None => Some("write `intent = \"NAME\"` into it, such as `intent = \"write-file\"`".to_owned()),
        };
        let problem = spot.error("profile::unknown-intent", "this does not name an intent that stands in");
        problems.push(problem.maybe_help(help));
    }
}

fn tools(file: ToolsFile) -> BTreeMap<Role, String> {
    let ToolsFile { read, write, edit, run, search, plan, ask, mode, delegate } = file;
    let named = [
        (Role::Read, read),
        (Role::Write, write),
        (Role::Edit, edit),
        (Role::Run, run),
        (Role::Search, search),
        (Role::Plan, plan),
        (Role::Ask, ask),
        (Role::Mode, mode),
        (Role::Delegate, delegate),
    ];
    named.into_iter().filter_map(|(role, name)| Some((role, name?))).collect()
}

/// Reports keys that are for profiles of the other party.
fn misplaced_keys(root: &Spot<'_>, kind: Party) -> Vec<Diagnostic> {
    let foreign: &[&str] = match kind {
        Party::Agent => &["agent-name", "terminal", "share", "settings", "acts", "exit-codes"],
        Party::Client => &["prompts", "intent-line", "model"],
    };
    let given = foreign.iter().map(|key| (key, root.down(key))).filter(|(_, spot)| spot.value().is_some());
    let problem = |(key, spot): (&&str, Spot<'_>)| {
        let message = format!("`{key}` is for {}, and this is the profile of {}", kind.other().one(), kind.one());
        let help = match kind {
            Party::Client if *key == "model" => "leave it out: only agents ask a model".to_owned(),
            Party::Agent => format!("leave it out, or write `kind = \"{}\"`", kind.other()),
            Party::Client => "what the user says stands in the cases; how it is said, in `[acts]`".to_owned(),
        };
        spot.key_error("profile::misplaced-key", message).help(help)
    };
    given.map(problem).collect()
}

/// Checks the names of the files of HOME, and that of the agent.
fn paths(root: &Spot<'_>, file: &ProfileFile, problems: &mut Vec<Diagnostic>) {
    for path in file.home.keys() {
        if path.is_empty() || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
            let problem =
                root.down("home").down(path).key_error("profile::path", format!("`{path}` is not a path below HOME"));
            problems.push(problem.help("write a relative path without `..`, such as `.config/agent.json`"));
        }
    }
    if let Some(name) = &file.agent_name {
        let mut parts = Path::new(name).components();
        let single = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !single || name.ends_with('/') {
            let problem = root.down("agent-name").error("profile::path", format!("`{name}` is not the name of a file"));
            problems.push(problem.help("the harness chooses the folder, which is `{agent_dir}`"));
        }
    }
}

/// Checks the placeholders in the command, the environment and the files of HOME, and that a client gets its agent.
fn start_places(root: &Spot<'_>, file: &ProfileFile, problems: &mut Vec<Diagnostic>) {
    let known = places::of_a_start(file.kind);
    let command = root.down("command");
    let words = file.command.as_deref().unwrap_or_default();
    if words.is_empty() && file.profile.is_none() {
        let problem = root.error("profile::no-command", "nothing says which program to start");
        problems.push(problem.help(
            "write `command = [\"PROGRAM\", \"ARGUMENT\"]`, or `profile = \"NAME\"` to build on another profile",
        ));
    }
    let is_args = |word: &str| file.kind == Party::Client && word == format!("{{{}}}", places::ARGS);
    for (i, word) in words.iter().enumerate().filter(|(_, word)| !is_args(word)) {
        problems.extend(unknown_places(&command.down(i), word, &known));
    }
    for (i, word) in file.version.iter().flatten().enumerate() {
        problems.extend(unknown_places(&root.down("version").down(i), word, &[]));
    }
    let mut args = words.iter().enumerate().filter(|(_, word)| is_args(word)).map(|(i, _)| command.down(i));
    if let (Some(first), Some(second)) = (args.next(), args.next()) {
        let problem = second.error("profile::args", "`{args}` is listed twice");
        problems.push(problem.also(first.source(), first.span(), "first here").help("keep one of the two"));
    }
    for (name, value) in &file.env {
        problems.extend(unknown_places(&root.down("env").down(name), value, &known));
    }
    for (path, text) in &file.home {
        // A file has its own syntax, which may use braces; only words similar to a placeholder are suspicious.
        let near = |word: &&str| nearest(word, known.iter().map(String::as_str)).is_some();
        let suspicious = unfit(text, &known).filter(near);
        problems.extend(suspicious.map(|word| unknown_place(&root.down("home").down(path), word, &known).warning()));
    }
    if file.kind == Party::Client && file.profile.is_none() && !words.is_empty() && !names_its_agent(file) {
        let problem = command.error("profile::no-agent", "nothing tells the client what its agent is");
        problems.push(problem.help(
            "write `{agent}` where the path of the agent's program stands: in `command`, `[env]` or `[home]`; \
             `{agent_dir}` is its folder, and `{agent_json}` an entry for a list of agents",
        ));
    }
}

/// Whether a text has a placeholder for the agent, or a misspelt one.
fn names_its_agent(file: &ProfileFile) -> bool {
    let served = file.serve.iter().flatten().chain(&file.url);
    let mut texts = file.command.iter().flatten().chain(served).chain(file.env.values()).chain(file.home.values());
    let meant = |word: &str| places::AGENT.contains(&word) || nearest(word, places::AGENT).is_some();
    texts.any(|text| places::words(text).any(meant))
}

/// Lowers the means of each act.
fn acts(
    spot: &Spot<'_>,
    acts: BTreeMap<String, MeansFile>,
    terminal: bool,
    problems: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Means> {
    let mut lowered = BTreeMap::new();
    let names = ACTS.map(|(name, _)| name);
    for (act, means) in acts {
        let here = spot.down(&act);
        if !names.contains(&act.as_str()) {
            let problem = here.key_error("profile::unknown-act", format!("unknown act `{act}`"));
            problems.push(problem.maybe_help(did_you_mean(&act, "the acts are", &names)));
            continue;
        }
        if means.keys.is_some() && !terminal {
            let problem = here.down("keys").key_error("profile::keys", "the client has no terminal to type on");
            problems.push(problem.help("add `terminal = true` above the tables, or use another of the means"));
        }
        let known = places::of_an_act(&act);
        for (key, text) in [("line", &means.line), ("keys", &means.keys), ("person", &means.person)] {
            let text = text.as_deref().unwrap_or_default();
            problems.extend(unknown_places(&here.down(key), text, &known));
        }
        for (i, word) in means.hook.iter().flatten().enumerate() {
            problems.extend(unknown_places(&here.down("hook").down(i), word, &known));
        }
        let texts = [&means.line, &means.keys, &means.person].into_iter().flatten().chain(means.hook.iter().flatten());
        if names_no_session(&act, &texts.cloned().collect::<Vec<_>>()) {
            let problem = here.key_error("profile::no-session", format!("`{act}` does not say which session"));
            problems.push(problem.help(HOW_TO_NAME_A_SESSION));
        }
        lowered.extend(lower_means(means).map(|means| (act, means)));
    }
    lowered
}

/// Returns the given means; the structure of the file ensures that there is one.
fn lower_means(means: MeansFile) -> Option<Means> {
    let MeansFile { line, keys, hook, signal, person } = means;
    line.map(Means::Line)
        .or(keys.map(Means::Keys))
        .or(hook.map(Means::Hook))
        .or(signal.map(|signal| Means::Signal(signal.name().to_owned())))
        .or(person.map(Means::Person))
}

fn settings(spot: &Spot<'_>, settings: SettingsFile, problems: &mut Vec<Diagnostic>) -> BTreeMap<Setting, Vec<String>> {
    let SettingsFile { permission_allow, permission_reject, permission_hold, mcp_servers, directories } = settings;
    let given = [
        (Setting::PermissionAllow, permission_allow),
        (Setting::PermissionReject, permission_reject),
        (Setting::PermissionHold, permission_hold),
        (Setting::McpServers, mcp_servers),
        (Setting::Directories, directories),
    ];
    let given: BTreeMap<_, _> = given.into_iter().filter_map(|(setting, words)| Some((setting, words?))).collect();
    for (setting, words) in &given {
        let here = spot.down(setting.name());
        for (i, word) in words.iter().enumerate() {
            problems.extend(unknown_places(&here.down(i), word, &setting.places()));
        }
    }
    given
}

fn exit_codes(
    spot: &Spot<'_>,
    codes: BTreeMap<String, String>,
    problems: &mut Vec<Diagnostic>,
) -> BTreeMap<i32, String> {
    let mut lowered = BTreeMap::new();
    for (text, meaning) in codes {
        match text.parse::<u8>() {
            Ok(code) if code.to_string() == text => {
                lowered.insert(i32::from(code), meaning);
            }
            _ => {
                let problem = spot.down(&text).key_error("profile::exit-code", format!("`{text}` is not an exit code"));
                problems.push(problem.help("write a number from 0 to 255, such as `5 = \"a permission was refused\"`"));
            }
        }
    }
    lowered
}

/// Returns the words of a text that look like placeholders but are unknown.
fn unfit<'t>(text: &'t str, known: &[String]) -> impl Iterator<Item = &'t str> {
    places::words(text).filter(|word| !known.iter().any(|known| known == word))
}

fn unknown_places(spot: &Spot<'_>, text: &str, known: &[String]) -> Vec<Diagnostic> {
    unfit(text, known).map(|word| unknown_place(spot, word, known)).collect()
}

/// Creates an error at a placeholder in a text, as precisely as the source allows.
fn unknown_place(spot: &Spot<'_>, word: &str, known: &[String]) -> Diagnostic {
    let needle = format!("{{{word}}}");
    let span = spot.span();
    let span = spot.source().slice(span).find(&needle).map_or(span, |at| {
        let start = span.start + at;
        Span::new(start, start + needle.len())
    });
    let (message, help) = if word == places::ARGS && known.iter().any(|place| place == "agent") {
        ("`{args}` cannot stand here".to_owned(), "it is a whole word of `command`".to_owned())
    } else {
        (format!("unknown place `{needle}`"), place_help(word, known))
    };
    Diagnostic::error("profile::unknown-place", spot.source(), span, message).help(help)
}
