//! Lowers a case in a context: the steps of the context establish a state, and contain the steps of the case.
//!
//! `include: <opening>` stands for the first step of the case, which must be an include, and `include: <case>` for the
//! steps after it. The last `<case>` is the case itself. Those before it only establish the state, so they decide
//! nothing.

use std::sync::Arc;

use crate::case::check::Checker;
use crate::case::file::{ContextFile, StepFile};
use crate::case::includes::{CONTEXTS, IncludeError};
use crate::case::model::Action;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::{Document, Spot};

/// Stands for the first step of the case.
const OPENING: &str = "<opening>";

/// Stands for the other steps of the case.
const CASE: &str = "<case>";

impl<'a> Checker<'a> {
    /// Finds the context at this position of the list.
    pub fn context(&mut self, at: usize, name: &str) -> Option<&'a (Document, ContextFile)> {
        let spot = Spot::root(self.document).down("contexts").down(at);
        match self.includes.get(self.subject, &format!("{CONTEXTS}{name}")) {
            Ok(context) => return Some(context),
            Err(IncludeError::Broken(problems)) => self.problems.extend(problems.iter().cloned()),
            Err(IncludeError::Unknown(names)) => {
                let names: Vec<_> = names.into_iter().filter_map(|name| name.strip_prefix(CONTEXTS)).collect();
                let problem = spot.error("case::unknown-context", format!("unknown context `{name}`"));
                self.problems.push(problem.maybe_help(did_you_mean(name, "the contexts are", &names)));
            }
        }
        None
    }

    /// Lowers the steps of a case in a context.
    pub fn transcript_in(&mut self, context: &'a (Document, ContextFile), document: &Document, steps: &[StepFile]) {
        let (place, file) = context;
        let Some(opening) = steps.first().and_then(|step| step.include.as_deref()) else {
            let spot = Spot::root(document).down("transcript").down(0);
            let problem = spot.error("case::context", "a case with contexts begins with an include");
            return self.problems.push(problem.help("put the steps that open the session into an include"));
        };
        self.included.extend(file.in_place_of.clone());
        let (list, known) = (Spot::root(place).down("transcript"), self.problems.len());
        let mut left = file.transcript.iter().filter(|step| step.include.as_deref() == Some(CASE)).count();
        if left == 0 {
            let message = format!("the steps of the case are missing; expected `include: {CASE}`");
            self.problems.push(list.key_error("case::context", message));
        }
        for (i, step) in file.transcript.iter().enumerate() {
            let spot = list.down(i).down("include");
            match step.include.as_deref() {
                Some(OPENING) => self.include(&spot, opening),
                Some(CASE) => {
                    left -= 1;
                    self.is_establishing = left > 0;
                    let before = (self.scope.clone(), self.included.clone());
                    self.steps_from(1, document, steps);
                    if self.is_establishing {
                        let names = self.scope.names_since(&before.0);
                        (self.scope, self.included) = before;
                        self.push(&spot, Action::Forget(names), Vec::new(), None);
                    }
                    self.is_establishing = false;
                }
                _ => self.step(&list.down(i), step.clone()),
            }
        }
        let asked = Spot::root(document).down("contexts");
        let in_context = |problem: &&mut Diagnostic| Arc::ptr_eq(&problem.primary.source, &place.source);
        for problem in self.problems[known..].iter_mut().filter(in_context) {
            *problem = problem.clone().also(&document.source, asked.span(), "in a context of this case");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::case::{Action, Case, Includes, Vocabulary, load_bytes};
    use crate::diagnostic::{RenderStyle, render_all};
    use crate::edition::V1;

    const CASE: &str = "title: A turn\nsubject: agent\nrequirements: [prompt.stop-reason]\n";

    const STEPS: &str = "transcript:\n  - include: session\n  \
        - client: { id: turn, method: session/prompt, params: { sessionId: <session>, prompt: { intent: say } } }\n  \
        - agent?: { method: session/update, params: { update: { messageId: <message> } } }\n  \
        - agent: { id: turn, result: { stopReason: <any> }, decides: prompt.stop-reason }\n";

    /// Reads the case with this head, where `own` is a further context.
    fn read(head: &str, steps: &str, own: &str) -> (Vec<Case>, String) {
        let mut includes = Includes::of(&V1);
        includes.add("v1/agent/include/context/own.yaml", "own.yaml", own.as_bytes());
        let text = format!("{CASE}{head}\n{steps}");
        let (cases, problems) =
            load_bytes("cases/v1/agent/x.yaml", text.as_bytes(), &Vocabulary::of(V1.edition()), &includes);
        (cases, render_all(&problems, RenderStyle::Plain))
    }

    const OWN: &str = "title: t\nneeds: agent.loadSession\ncapabilities: {}\ntranscript:\n  \
        - include: <opening>\n  - include: <case>\n  - fence: {}\n  - include: <case>\n";

    #[test]
    fn context_is_a_case_and_only_its_last_pass_decides() {
        let (cases, problems) = read("contexts: [own]", STEPS, OWN);
        let [first, own] = cases.as_slice() else { panic!("{problems}") };
        assert_eq!((first.id.as_str(), own.id.as_str()), ("v1/agent/x", "v1/agent/x@own"));
        assert_eq!((first.first_use(), own.first_use()), (None, Some("v1/agent/x")));
        assert_eq!((own.title.as_str(), own.needs.len(), first.needs.len()), ("A turn (own)", 1, 0));
        assert!(own.tester.capabilities.as_object().is_some_and(serde_json::Map::is_empty));
        let decides: Vec<bool> = own.steps.iter().map(|step| !step.decides.is_empty()).collect();
        let opening = first.steps.len() - 3;
        assert_eq!(own.steps.len(), opening + 3 + 2 + 3);
        assert_eq!(decides.iter().position(|decides| *decides), Some(own.steps.len() - 1));
        let Action::Forget(names) = &own.steps[opening + 3].action else { panic!("{:?}", own.steps) };
        assert_eq!(names, &["message"]);
    }

    #[test]
    fn shapes_have_contexts() {
        let head = "matrix: { text: { a: x, b: y } }\ncontexts: [own]";
        let (cases, problems) = read(head, &STEPS.replace("intent: say", "intent: say, text: <matrix.text>"), OWN);
        let ids: Vec<_> = cases.iter().map(|case| (case.id.as_str(), case.first_use())).collect();
        let [a, b] = ["v1/agent/x@a", "v1/agent/x@b"];
        let wanted = [(a, None), ("v1/agent/x@a,own", Some(a)), (b, None), ("v1/agent/x@b,own", Some(b))];
        assert_eq!(ids, wanted, "{problems}");
    }

    #[test]
    fn include_of_the_context_adds_nothing_to_the_case() {
        let own = "title: t\nin-place-of: turn\ntranscript:\n  - include: session\n  - include: <opening>\n  - include: <case>\n";
        let steps = "transcript:\n  - include: turn\n  - include: initialize\n  - fence: {}\n";
        let (cases, problems) = read("contexts: [own]", steps, own);
        let [first, own] = cases.as_slice() else { panic!("{problems}") };
        assert_eq!((first.steps.len(), own.steps.len()), (7, 5));
    }

    #[test]
    fn names_mistakes_in_contexts() {
        let problems = |head: &str, steps: &str, own: &str| read(head, steps, own).1;
        let unknown = problems("contexts: [after-cancle]", STEPS, OWN);
        assert!(unknown.contains("unknown context `after-cancle`") && unknown.contains("after-cancel"), "{unknown}");
        let missing = problems("contexts: [own]", STEPS, "title: t\ntranscript: [include: <opening>]\n");
        assert!(missing.contains("the steps of the case are missing"), "{missing}");
        let unopened = problems("contexts: [own]", "transcript:\n  - fence: {}\n", OWN);
        assert!(unopened.contains("begins with an include"), "{unopened}");
        let unbound = problems("contexts: [after-cancel]", "transcript: [include: initialize, fence: {}]\n", OWN);
        assert!(unbound.contains("`<session>` has no value yet") && unbound.contains("x.yaml:4:11"), "{unbound}");
    }
}
