//! The data that the lines of a transcript share: the requests by label, and the names with a value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::case::pattern::{FORMS, KINDS, NameUse};
use crate::case::template::Template;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::Spot;
use crate::requirement::Party;
use crate::source::{SourceFile, Span};

/// The names that have a value in every case.
pub(crate) const BUILT_IN: [&str; 5] = ["cwd", "home", "start", "client-capabilities", "agent-capabilities"];

/// The mistake because of which something is refused.
pub(crate) type Refusal = Box<Diagnostic>;

/// A place that a later diagnostic may point back to.
pub(crate) type Mark = (Arc<SourceFile>, Span);

/// A request of the transcript.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub by: Party,
    pub method: String,
    place: Mark,
    answered: Option<Mark>,
}

/// The requests and names that exist at a step of a transcript.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    requests: BTreeMap<String, Asked>,
    names: BTreeSet<String>,
}

impl Scope {
    /// Creates the scope before the first step.
    pub fn new() -> Self {
        Self { requests: BTreeMap::new(), names: BUILT_IN.map(str::to_owned).into() }
    }

    /// The names that have a value here and had none in an earlier scope.
    pub fn names_since(&self, earlier: &Self) -> Vec<String> {
        self.names.difference(&earlier.names).cloned().collect()
    }

    /// Returns the request with this label.
    pub fn request(&self, label: &str) -> Option<&Asked> {
        self.requests.get(label)
    }

    /// Adds a request; its label must be new.
    pub fn ask(&mut self, spot: &Spot<'_>, label: &str, by: Party, method: &str) -> Result<(), Refusal> {
        let place = (Arc::clone(spot.source()), spot.span());
        if let Some(first) = self.requests.get(label) {
            let message = format!("the label `{label}` stands for another request already");
            return Err(spot
                .error("case::repeated-label", message)
                .also(&first.place.0, first.place.1, format!("`{}` has it", first.method))
                .help("choose another label; labels are only names within the case")
                .into());
        }
        self.requests.insert(label.to_owned(), Asked { by, method: method.to_owned(), place, answered: None });
        Ok(())
    }

    /// Finds the request that `by` answers.
    pub fn answer(&self, spot: &Spot<'_>, label: &str, by: Party) -> Result<&Asked, Refusal> {
        let Some(asked) = self.requests.get(label) else {
            let labels: Vec<_> =
                self.requests.iter().filter(|(_, a)| a.by != by).map(|(label, _)| label.as_str()).collect();
            return Err(spot
                .error("case::unknown-label", format!("no request before this line has the label `{label}`"))
                .maybe_help(did_you_mean(label, &format!("the requests of the {} are", by.other()), &labels))
                .into());
        };
        if asked.by == by {
            let message = format!("the {by} cannot answer its own request `{label}`");
            return Err(spot
                .error("case::own-request", message)
                .also(&asked.place.0, asked.place.1, format!("asked by the {by}"))
                .help(format!("the answer is a line of the {}", by.other()))
                .into());
        }
        Ok(asked)
    }

    /// Marks a request as answered; this must be its first answer.
    pub fn close(&mut self, spot: &Spot<'_>, label: &str) -> Result<(), Refusal> {
        let Some(asked) = self.requests.get_mut(label) else { return Ok(()) };
        if let Some((source, span)) = &asked.answered {
            return Err(spot
                .error("case::answered-twice", format!("the request `{label}` is answered already"))
                .also(source, *span, "answered here")
                .help("a request has one answer; a second one of the tester is marked `illegal: true`")
                .into());
        }
        asked.answered = Some((Arc::clone(spot.source()), spot.span()));
        Ok(())
    }

    /// Marks a name as bound for this check.
    pub fn bind(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// Reports every use of a name without a value; with `binds`, a pattern may bind it.
    pub fn check_uses(&mut self, spot: &Spot<'_>, uses: &[NameUse], binds: bool) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for name in uses {
            let here = spot.deep(&name.pointer);
            if name.binds && binds {
                self.bind(&name.name);
            } else if let Some(problem) = self.check_name(&here, &name.name) {
                problems.push(problem);
            }
        }
        problems
    }

    /// Reports the names of a text that have no value.
    pub fn check_text(&self, spot: &Spot<'_>, text: &str) -> Vec<Diagnostic> {
        Template::parse(text).names().filter_map(|name| self.check_name(spot, name)).collect()
    }

    /// Reports patterns, and names without a value, in a value of the tester.
    pub fn check_said(&self, spot: &Spot<'_>, value: &Value) -> Vec<Diagnostic> {
        match value {
            Value::String(text) => match form(text) {
                Some(word) => vec![no_pattern(spot, word)],
                None => self.check_text(spot, text),
            },
            Value::Array(items) => {
                items.iter().enumerate().flat_map(|(i, item)| self.check_said(&spot.down(i), item)).collect()
            }
            Value::Object(members) => {
                members.iter().flat_map(|(key, member)| self.check_said(&spot.down(key), member)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn check_name(&self, spot: &Spot<'_>, name: &str) -> Option<Diagnostic> {
        if self.names.contains(name) {
            return None;
        }
        if KINDS.contains(&name) {
            return Some(no_pattern(spot, name));
        }
        let known: Vec<_> = self.names.iter().map(|name| format!("<{name}>")).collect();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        let diagnostic = narrow(spot, name, "case::unbound-name", format!("the name `<{name}>` has no value yet"));
        let name = &format!("<{name}>");
        let help = "a name gets its value from a line of the subject above; a literal `<` is written `<lt>`";
        Some(diagnostic.maybe_help(did_you_mean(name, "names with a value are", &known)).help(help))
    }
}

/// Returns the word of a pattern with an argument, if the whole text is one.
fn form(text: &str) -> Option<&'static str> {
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    FORMS.into_iter().find(|word| inner.split(' ').next() == Some(word))
}

fn no_pattern(spot: &Spot<'_>, word: &str) -> Diagnostic {
    narrow(spot, word, "case::misplaced-pattern", format!("the pattern `<{word}>` cannot stand here"))
        .help("a pattern is the whole of a value in a line of the subject; a literal `<` is written `<lt>`")
}

/// Creates an error at a name in a text, as precisely as the source allows.
pub(crate) fn narrow(spot: &Spot<'_>, word: &str, code: &'static str, message: String) -> Diagnostic {
    let span = spot.span();
    let needle = format!("<{word}");
    let span = match spot.source().slice(span).find(&needle) {
        Some(at) => {
            let start = span.start + at;
            let rest = spot.source().slice(Span::new(start, span.end));
            let length = rest.find('>').map_or(needle.len(), |end| end + 1);
            Span::new(start, start + length)
        }
        None => span,
    };
    Diagnostic::error(code, spot.source(), span, message)
}
