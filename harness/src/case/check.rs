//! Lowers a case file to the [`Case`] for the runner, and reports all of its mistakes.
//!
//! This file holds the requirements, the needs, the workspace and the limits. The tester and the user are set up in
//! [`crate::case::setup`], the steps are in [`crate::case::steps`], the messages in [`crate::case::line`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::case::file::{CaseFile, ContentFile, LimitsFile, OneOrMany};
use crate::case::includes::Includes;
use crate::case::model::{Case, Need, NeedRoot, Step, UserSetup, WorkspaceFile};
use crate::case::scope::{Mark, Refusal, Scope};
use crate::case::vocabulary::Vocabulary;
use crate::diagnostic::{Diagnostic, did_you_mean, nearest};
use crate::document::{Document, Spot};
use crate::requirement::Party;

/// A case while it is being lowered.
pub(crate) struct Checker<'a> {
    pub vocabulary: &'a Vocabulary,
    pub includes: &'a Includes,
    pub document: &'a Document,
    pub subject: Party,
    pub requirements: Vec<String>,
    /// The tester's capabilities, for samples of its messages.
    pub capabilities: Value,
    /// The acts and settings of the client's user.
    pub user: UserSetup,
    pub scope: Scope,
    /// The names of the tester's MCP servers.
    pub mcp: Vec<String>,
    pub by_hand: BTreeSet<String>,
    /// The includes that are being expanded, outermost first.
    pub open: Vec<String>,
    /// The includes that have been put in, which add nothing a second time.
    pub included: BTreeSet<String>,
    /// Whether the steps only establish a context, so that they decide nothing.
    pub is_establishing: bool,
    /// Where the subject's input was closed.
    pub closed: Option<Mark>,
    /// Where the subject's end was awaited.
    pub ended: Option<Mark>,
    pub steps: Vec<Step>,
    /// Where each step begins.
    pub step_marks: Vec<Mark>,
    pub problems: Vec<Diagnostic>,
}

/// Lowers a file with a valid structure. Returns a case only if the file has no errors.
pub(crate) fn lower(
    id: String,
    file: CaseFile,
    document: &Document,
    context: Option<usize>,
    vocabulary: &Vocabulary,
    includes: &Includes,
) -> (Option<Case>, Vec<Diagnostic>) {
    let mut checker = Checker {
        vocabulary,
        includes,
        document,
        subject: file.subject,
        requirements: file.requirements.clone(),
        capabilities: Value::Null,
        user: UserSetup::default(),
        scope: Scope::new(),
        mcp: Vec::new(),
        by_hand: BTreeSet::new(),
        open: Vec::new(),
        included: BTreeSet::new(),
        is_establishing: false,
        closed: None,
        ended: None,
        steps: Vec::new(),
        step_marks: Vec::new(),
        problems: Vec::new(),
    };
    checker.requirements(&file.requirements);
    let context_name = context.map(|at| file.contexts[at].clone());
    let context = context.and_then(|at| checker.context(at, &file.contexts[at]));
    let mut needs = checker.needs(document, &file.needs);
    if let Some((context, file)) = context {
        needs.extend(checker.needs(context, &file.needs));
    }
    let capabilities = context.and_then(|(_, file)| file.capabilities.clone());
    let mut tester = checker.setup(file.client, file.agent, capabilities);
    checker.user(file.user);
    let workspace = checker.workspace(file.workspace);
    match context {
        Some(context) => checker.transcript_in(context, document, &file.transcript),
        None => checker.transcript(document, &file.transcript),
    }
    checker.races();
    tester.by_hand = std::mem::take(&mut checker.by_hand);
    let case = Case {
        edition: vocabulary.edition,
        id,
        title: file.title,
        context: context_name,
        subject: file.subject,
        requirements: file.requirements,
        needs,
        tester,
        user: checker.user,
        workspace,
        limits: file.limits.as_ref().map(LimitsFile::overrides).unwrap_or_default(),
        steps: checker.steps,
        source: Arc::clone(&document.source),
        is_own: false,
    };
    let sound = !checker.problems.iter().any(Diagnostic::is_error);
    (sound.then_some(case), checker.problems)
}

impl Checker<'_> {
    fn requirements(&mut self, ids: &[String]) {
        let list = Spot::root(self.document).down("requirements");
        for (i, id) in ids.iter().enumerate() {
            let spot = list.down(i);
            if let Some(first) = ids[..i].iter().position(|earlier| earlier == id) {
                let first = list.down(first);
                let problem = spot.error("case::repeated-requirement", format!("`{id}` is listed twice"));
                self.problems
                    .push(problem.also(first.source(), first.span(), "first here").help("keep one of the two"));
            } else if let Some(problem) = self.unfit_requirement(&spot, id) {
                self.problems.push(problem);
            }
        }
    }

    /// Returns the mistake in the id of a requirement, which must exist and be a requirement for the subject.
    pub fn unfit_requirement(&self, spot: &Spot<'_>, id: &str) -> Option<Diagnostic> {
        let catalogue = &self.vocabulary.edition.catalogue;
        let Some(found) = catalogue.find(id) else {
            let bound: Vec<_> =
                catalogue.iter().filter(|known| known.party == self.subject).map(|known| known.id.as_str()).collect();
            let area = id.split('.').next().unwrap_or(id);
            let near: Vec<_> = bound.iter().copied().filter(|known| known.split('.').next() == Some(area)).collect();
            let help = match nearest(id, bound) {
                Some(known) => Some(format!("did you mean `{known}`?")),
                None => did_you_mean(id, &format!("the {area} requirements of the {} are", self.subject), &near),
            };
            let fallback = || "cases/requirements/v1.yaml lists them all".to_owned();
            let problem = spot.error("case::unknown-requirement", format!("unknown requirement `{id}`"));
            return Some(problem.help(help.unwrap_or_else(fallback)));
        };
        if found.party == self.subject {
            return None;
        }
        let twin = id.strip_suffix(found.party.name()).map(|rule| format!("{rule}{}", self.subject));
        let twin = twin.filter(|twin| catalogue.find(twin).is_some());
        let help = twin.map_or_else(
            || format!("a case with `subject: {}` is the place for it", found.party),
            |twin| format!("did you mean `{twin}`?"),
        );
        let message = format!("`{id}` binds the {}, but this case judges the {}", found.party, self.subject);
        Some(spot.error("case::wrong-party", message).help(help))
    }

    fn needs(&mut self, document: &Document, needs: &OneOrMany) -> Vec<Need> {
        let list = Spot::root(document).down("needs");
        let mut lowered = Vec::new();
        for (pointer, text) in &needs.items {
            match self.need(&list.deep(pointer), text) {
                Ok(need) => lowered.push(need),
                Err(problem) => self.problems.push(*problem),
            }
        }
        lowered
    }

    fn need(&self, spot: &Spot<'_>, text: &str) -> Result<Need, Refusal> {
        const HELP: &str = "a need is `agent.`, `client.`, `session.` or `initialize.` and a path, such as `agent.loadSession`; `not` may stand before it";
        let malformed = |message: String| Box::new(spot.error("case::malformed-need", message).help(HELP));
        let denied = text.strip_prefix("not ");
        let mut words = denied.unwrap_or(text).split('.');
        let root = match words.next() {
            Some("agent") => NeedRoot::Agent,
            Some("client") => NeedRoot::Client,
            Some("session") => NeedRoot::Session,
            Some("initialize") => NeedRoot::Initialize,
            _ => return Err(malformed(format!("`{text}` begins with no known object"))),
        };
        let path: Vec<_> = words.map(str::to_owned).collect();
        if path.is_empty() || path.iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
            return Err(malformed(format!("`{text}` names no member")));
        }
        let declared_by = if root == NeedRoot::Client { Party::Client } else { Party::Agent };
        if declared_by != self.subject {
            let (subject, tester) = (self.subject, self.subject.other());
            let roots = if subject == Party::Agent { "`agent.`, `session.` or `initialize.`" } else { "`client.`" };
            let message = format!("`{text}` is declared by the tester, not by the subject");
            let problem = spot.error("case::own-need", message);
            let help = format!("the {subject} declares {roots}; what the tester declares stands in `{tester}:`");
            return Err(Box::new(problem.help(help)));
        }
        let members = &self.vocabulary.edition.member_names;
        let unknown = path.iter().take_while(|word| *word != "_meta").find(|word| !members.contains(word.as_str()));
        if let Some(word) = unknown {
            let problem = spot.error("case::unknown-need", format!("the schema has no member `{word}`"));
            let near = nearest(word, members.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            return Err(Box::new(problem.maybe_help(near).help(HELP)));
        }
        Ok(Need { root, path, unmet: denied.is_some(), text: denied.unwrap_or(text).to_owned() })
    }

    fn workspace(&mut self, files: BTreeMap<String, ContentFile>) -> Vec<(String, WorkspaceFile)> {
        let spot = Spot::root(self.document).down("workspace");
        for path in files.keys() {
            let sound = is_below(path);
            let inside =
                files.keys().find(|other| path.strip_prefix(other.as_str()).is_some_and(|r| r.starts_with('/')));
            let message = match inside {
                _ if !sound => format!("`{path}` is not a path below the working directory"),
                Some(other) => format!("`{path}` lies inside `{other}`, which is not a folder"),
                None => continue,
            };
            let problem = spot.down(path).key_error("case::workspace-path", message);
            self.problems.push(problem.help(PATH_HELP));
        }
        let mut workspace = Vec::new();
        for (path, file) in files {
            let file = match file {
                ContentFile::Text(text) => Some(WorkspaceFile::Bytes(text.into_bytes())),
                ContentFile::Bytes { base64 } => self.base64(&spot.down(&path), &base64).map(WorkspaceFile::Bytes),
                ContentFile::Link { link } if is_below(&link) => Some(WorkspaceFile::Link(link)),
                ContentFile::Link { link } => {
                    let message = format!("`{link}` is not a path below the working directory");
                    let problem = spot.down(&path).down("link").error("case::workspace-path", message);
                    self.problems.push(problem.help(PATH_HELP));
                    None
                }
            };
            workspace.extend(file.map(|file| (path, file)));
        }
        workspace
    }

    /// Decodes the member `base64` at this place.
    pub(super) fn base64(&mut self, spot: &Spot<'_>, text: &str) -> Option<Vec<u8>> {
        match STANDARD.decode(text) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                let message = format!("this is not base64: {}", error.to_string().to_lowercase());
                let problem = spot.down("base64").error("case::base64", message);
                self.problems.push(problem.help("use the alphabet with `+` and `/`, and pad with `=`"));
                None
            }
        }
    }
}

const PATH_HELP: &str = "write a relative path without `..`, such as `sub/notes.txt`";

/// Whether this is the relative path of a file that stays below its folder.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
        && !path.is_empty()
        && !path.ends_with('/')
        && !path.contains(['\\', '<'])
}
