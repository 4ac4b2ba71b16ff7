//! Lowers the steps of a transcript, and inserts the steps of includes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::case::check::Checker;
use crate::case::file::{
    BinaryFile, DurationText, ExitFile, FenceFile, FileCheckFile, HttpFile, LineFile, OneOrMany, ProcessFile, RawFile,
    ReplyFile, StepFile,
};
use crate::case::includes::IncludeError;
use crate::case::model::{
    Action, FileCheck, FileWant, HttpRequest, Incoming, Presence, ProcessCheck, RawBytes, ReplyText, Step,
};
use crate::case::template::Template;
use crate::diagnostic::did_you_mean;
use crate::document::{Document, Spot};
use crate::requirement::Party;

impl Checker<'_> {
    /// Lowers all steps of a file.
    pub fn transcript(&mut self, document: &Document, steps: &[StepFile]) {
        self.steps_from(0, document, steps);
    }

    /// Lowers the steps of a file from a position on.
    pub fn steps_from(&mut self, first: usize, document: &Document, steps: &[StepFile]) {
        let list = Spot::root(document).down("transcript");
        for (i, step) in steps.iter().enumerate().skip(first) {
            self.step(&list.down(i), step.clone());
        }
    }

    pub fn step(&mut self, item: &Spot<'_>, step: StepFile) {
        let Some(key) = item.value().and_then(Value::as_object).and_then(|members| members.keys().next()) else {
            return;
        };
        let spot = item.down(key);
        self.after_the_end(&spot, key);
        let speakers = [
            (Party::Agent, Presence::Must, step.agent),
            (Party::Agent, Presence::Optional, step.agent_optional),
            (Party::Agent, Presence::Any, step.agent_any),
            (Party::Client, Presence::Must, step.client),
            (Party::Client, Presence::Optional, step.client_optional),
            (Party::Client, Presence::Any, step.client_any),
        ];
        for (speaker, presence, line) in speakers {
            if let Some(line) = line {
                self.speak(&spot, speaker, presence, line);
            }
        }
        if let Some(line) = step.never {
            self.never(&spot, line, false);
        }
        if let Some(line) = step.no_longer {
            self.never(&spot, line, true);
        }
        if let Some(lines) = step.any_order {
            self.any_order(&spot, lines);
        }
        if let Some(lines) = step.together {
            let lines =
                lines.into_iter().enumerate().filter_map(|(i, line)| self.outgoing(&spot.down(i), line)).collect();
            self.push(&spot, Action::Send(lines), Vec::new(), None);
        }
        if let Some(raw) = step.raw {
            self.raw(&spot, raw);
        }
        if let Some(request) = step.http {
            self.http(&spot, request);
        }
        if let Some(BinaryFile { message }) = step.binary {
            self.dialled(&spot, Action::Binary(message));
        }
        if let Some(FenceFile { decides, within }) = step.fence {
            let decides = self.decides(&spot, &decides);
            self.push(&spot, Action::Fence, decides, within.as_ref().map(DurationText::duration));
        }
        if let Some(reply) = step.reply {
            self.reply(&spot, Presence::Must, reply);
        }
        if let Some(reply) = step.reply_optional {
            self.reply(&spot, Presence::Optional, reply);
        }
        if let Some(check) = step.file {
            self.check(&spot, check);
        }
        if let Some(check) = step.process {
            self.process(&spot, &check);
        }
        for (presence, check) in [(Presence::Must, step.mcp), (Presence::Optional, step.mcp_optional)] {
            if let Some(check) = check {
                self.mcp(&spot, presence, check);
            }
        }
        if let Some(check) = step.page {
            self.page(&spot, &check);
        }
        if let Some(act) = step.user {
            self.act(&spot, &act.act);
        }
        if let Some(FenceFile { decides, within }) = step.login {
            let decides = self.decides(&spot, &decides);
            self.login(&spot, decides, within.as_ref().map(DurationText::duration));
        }
        if let Some(order) = step.agent_process {
            self.agent_process(&spot, order);
        }
        if step.close.is_some() {
            self.closed = Some((Arc::clone(spot.source()), spot.key_span()));
            self.push(&spot, Action::CloseStdin, Vec::new(), None);
        }
        if step.restart.is_some() {
            self.of_agents(&spot, Action::Restart, "`restart` cannot stand here: a client is started once");
        }
        if let Some(FenceFile { decides, within }) = step.end {
            let decides = self.decides(&spot, &decides);
            self.push(&spot, Action::End, decides, within.as_ref().map(DurationText::duration));
        }
        if let Some(ExitFile { code, decides, within }) = step.exit {
            let decides = self.decides(&spot, &decides);
            self.ended = Some((Arc::clone(spot.source()), spot.key_span()));
            self.push(&spot, Action::Exit { code }, decides, within.as_ref().map(DurationText::duration));
        }
        if let Some(name) = step.include {
            self.include(&spot, &name);
        }
    }

    /// Adds a step, with its place and its text.
    pub fn push(&mut self, spot: &Spot<'_>, action: Action, decides: Vec<String>, within: Option<Duration>) {
        let source = spot.source();
        let start = spot.key_span().start;
        let text =
            source.slice(crate::source::Span::new(start, spot.span().end.max(spot.key_span().end))).trim().to_owned();
        let place = source.place(start);
        self.step_marks.push((Arc::clone(source), spot.key_span()));
        self.steps.push(Step { place, text, source: Arc::clone(source), action, decides, within });
    }

    /// Reports a step that comes too late to have an effect.
    fn after_the_end(&mut self, spot: &Spot<'_>, key: &str) {
        let speaks = key == self.subject.other().name() || matches!(key, "raw" | "fence" | "together");
        let observes = matches!(key, "file" | "process" | "page" | "reply" | "reply?" | "include");
        let (mark, message, label) = match (&self.ended, &self.closed) {
            (Some(mark), _) if !observes => (mark, "the subject's process has ended", "awaited here"),
            (None, Some(mark)) if speaks => (mark, "the subject's input is closed", "closed here"),
            _ => return,
        };
        let problem = spot.key_error("case::after-the-end", format!("`{key}` comes too late: {message}"));
        self.problems
            .push(problem.also(&mark.0, mark.1, label).help("move the step up, or the end of the subject down"));
    }

    fn speak(&mut self, spot: &Spot<'_>, speaker: Party, presence: Presence, line: LineFile) {
        if speaker == self.subject {
            let within = line.within.as_ref().map(DurationText::duration);
            let decides = self.decides(spot, &line.decides);
            if let Some(line) = self.incoming(spot, line, presence, false) {
                self.push(spot, Action::Expect { line, presence }, decides, within);
            }
        } else if presence == Presence::Must {
            if let Some(line) = self.outgoing(spot, line) {
                self.push(spot, Action::Send(vec![line]), Vec::new(), None);
            }
        } else {
            let message = format!("the {speaker} is played by the tester, whose lines are never in doubt");
            let subject = self.subject;
            let help =
                format!("write `{speaker}:` for a line of the tester, or `{subject}?:` for a line of the subject");
            self.problems.push(spot.key_error("case::wrong-speaker", message).help(help));
        }
    }

    fn never(&mut self, spot: &Spot<'_>, line: LineFile, from_here: bool) {
        if line.within.is_some() {
            let problem = spot.down("within").key_error("case::misplaced-key", "a forbidden line has no limit in time");
            self.problems.push(problem.help("it holds until the transcript ends; a `fence: {}` proves the absence"));
        }
        let decides = self.decides(spot, &line.decides);
        if let Some(line) = self.incoming(spot, line, Presence::Any, true)
            && !self.is_establishing
        {
            self.push(spot, Action::Never(Incoming { from_here, ..line }), decides, None);
        }
    }

    fn any_order(&mut self, spot: &Spot<'_>, lines: Vec<LineFile>) {
        let (mut lowered, mut decided, mut limit) = (Vec::new(), Vec::new(), None);
        for (i, line) in lines.into_iter().enumerate() {
            let here = spot.down(i);
            for id in self.decides(&here, &line.decides) {
                if !decided.contains(&id) {
                    decided.push(id);
                }
            }
            limit = limit.max(line.within.as_ref().map(DurationText::duration));
            lowered.extend(self.incoming(&here, line, Presence::Must, false));
        }
        self.push(spot, Action::AnyOrder(lowered), decided, limit);
    }

    fn raw(&mut self, spot: &Spot<'_>, raw: RawFile) {
        let mut bytes = match (raw.text, raw.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => match self.base64(spot, &text) {
                Some(bytes) => bytes,
                None => return,
            },
            (Some(_), Some(_)) => {
                let problem = spot.down("base64").key_error("case::raw", "`base64` cannot be combined with `text`");
                self.problems.push(problem.help("keep one of the two"));
                return;
            }
            (None, None) => {
                let problem = spot.key_error("case::raw", "nothing is written");
                self.problems.push(problem.help("give the bytes as `text:`, or as `base64:` if they are not UTF-8"));
                return;
            }
        };
        let legal = raw.legal.unwrap_or(false);
        if legal && let Err(error) = serde_json::from_slice::<Value>(&bytes) {
            let problem = spot.down("legal").error("case::raw", format!("this is not a valid message: {error}"));
            self.problems.push(problem.help("leave out `legal: true` if the bytes are meant to be wrong"));
        }
        if raw.newline.unwrap_or(true) {
            bytes.push(b'\n');
        }
        self.push(spot, Action::Raw(RawBytes { bytes, legal, split: raw.split }), Vec::new(), None);
    }

    fn http(&mut self, spot: &Spot<'_>, request: HttpFile) {
        let HttpFile { method, headers, without, body } = request;
        for (name, text) in &headers {
            self.problems.extend(self.scope.check_text(&spot.down("headers").down(name.as_str()), text));
        }
        let set = headers.into_iter().map(|(name, text)| (name, Some(Template::parse(&text))));
        let headers = set.chain(without.into_iter().map(|name| (name, None))).collect();
        if let Some(body) = &body {
            self.names_in(&spot.down("body"), body);
        }
        self.dialled(spot, Action::Http(HttpRequest { method, headers, body }));
    }

    /// Adds a step of the end of a transport that dials, which a tester of clients is not.
    fn dialled(&mut self, spot: &Spot<'_>, action: Action) {
        self.of_agents(spot, action, "a client connects to the tester, and not the other way");
    }

    /// Adds a step that only the case of an agent can have; `why` explains that to the author of another one.
    fn of_agents(&mut self, spot: &Spot<'_>, action: Action, why: &str) {
        if self.subject == Party::Agent {
            return self.push(spot, action, Vec::new(), None);
        }
        let problem = spot.key_error("case::misplaced-step", why);
        self.problems.push(problem.help("it is a step of a case with `subject: agent`"));
    }

    fn reply(&mut self, spot: &Spot<'_>, presence: Presence, reply: ReplyFile) {
        let (id, label) = (spot.down("id"), reply.id.0);
        match self.scope.request(&label) {
            _ if self.subject == Party::Client => {
                let problem = spot.key_error("case::reply", "a client streams no reply");
                self.problems.push(problem.help("look at its lines with `client:`"));
            }
            None => self.problems.extend(self.scope.answer(&id, &label, Party::Agent).err().map(|problem| *problem)),
            Some(asked) if asked.method != "session/prompt" => {
                let message = format!("`{label}` is a request for `{}`, which has no turn", asked.method);
                self.problems.push(id.error("case::reply", message).help("give the label of a session/prompt"));
            }
            Some(_) => {}
        }
        if reply.contains.is_none() && reply.equals.is_none() && reply.lacks.is_none() && reply.empty.is_none() {
            let problem = spot.key_error("case::reply", "nothing is asked of the reply");
            self.problems.push(problem.help("give at least one of `contains`, `equals`, `lacks`, `empty`"));
        }
        let action = Action::Reply(ReplyText {
            label,
            presence,
            contains: reply.contains.map(|text| self.template(spot, "contains", &text)),
            equals: reply.equals.map(|text| self.template(spot, "equals", &text)),
            lacks: reply.lacks.map(|text| self.template(spot, "lacks", &text)),
            empty: reply.empty,
        });
        let decides = self.decides(spot, &reply.decides);
        self.push(spot, action, decides, None);
    }

    fn check(&mut self, spot: &Spot<'_>, check: FileCheckFile) {
        const HELP: &str = "give one of `content: …` (the whole text), `contains: …` and `absent: true`";
        self.absolute(&spot.down("path"), &check.path);
        let path = Template::parse(&check.path);
        let content = check.content.map(|text| self.template(spot, "content", &text));
        let contains = check.contains.map(|text| self.template(spot, "contains", &text));
        let decides = self.decides(spot, &check.decides);
        let want = match (content, contains, check.absent) {
            (Some(text), None, None) => FileWant::Content(text),
            (None, Some(text), None) => FileWant::Contains(text),
            (None, None, Some(true)) => FileWant::Absent,
            (None, None, _) => {
                self.problems.push(spot.key_error("case::file", "nothing is asked of the file").help(HELP));
                return;
            }
            _ => {
                self.problems.push(spot.key_error("case::file", "two things are asked of the file").help(HELP));
                return;
            }
        };
        self.push(
            spot,
            Action::File(FileCheck { path, want }),
            decides,
            check.within.as_ref().map(DurationText::duration),
        );
    }

    fn process(&mut self, spot: &Spot<'_>, check: &ProcessFile) {
        self.absolute(&spot.down("pid-file"), &check.pid_file);
        let decides = self.decides(spot, &check.decides);
        let action =
            Action::Process(ProcessCheck { pid_file: Template::parse(&check.pid_file), running: check.running });
        self.push(spot, action, decides, check.within.as_ref().map(DurationText::duration));
    }

    pub fn template(&mut self, spot: &Spot<'_>, key: &str, text: &str) -> Template {
        self.problems.extend(self.scope.check_text(&spot.down(key), text));
        Template::parse(text)
    }

    /// Returns the requirements that a step decides: they must exist, be declared and be requirements for the subject.
    pub fn decides(&mut self, spot: &Spot<'_>, decides: &OneOrMany) -> Vec<String> {
        let spot = spot.down("decides");
        for (pointer, id) in &decides.items {
            let here = spot.deep(pointer);
            if self.requirements.contains(id) {
                continue;
            }
            let problem = self.unfit_requirement(&here, id).unwrap_or_else(|| {
                let list = Spot::root(self.document).down("requirements");
                here.error("case::undeclared-requirement", format!("the case is not written for `{id}`"))
                    .also(list.source(), list.key_span(), "not in this list")
                    .help(format!("add `{id}` to `requirements`"))
            });
            self.problems.push(problem);
        }
        let decided = decides.items.iter().filter(|_| !self.is_establishing);
        decided.map(|(_, id)| id.clone()).collect()
    }

    /// Puts in the steps of an include; a second time it adds nothing.
    pub fn include(&mut self, spot: &Spot<'_>, name: &str) {
        if self.open.iter().any(|open| open == name) {
            let chain = self.open.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(" → ");
            let problem = spot.error("case::include-cycle", format!("`{name}` includes itself"));
            self.problems.push(problem.help(format!("the includes are {chain}")));
            return;
        }
        match self.includes.get(self.subject, name) {
            Ok((document, file)) => {
                if self.included.insert(name.to_owned()) {
                    self.open.push(name.to_owned());
                    self.transcript(document, &file.transcript);
                    self.open.pop();
                }
            }
            Err(IncludeError::Broken(problems)) => self.problems.extend(problems.iter().cloned()),
            Err(IncludeError::Unknown(names)) => {
                let problem = spot.error("case::unknown-include", format!("unknown include `{name}`"));
                self.problems.push(problem.maybe_help(did_you_mean(name, "the includes are", &names)));
            }
        }
    }
}
