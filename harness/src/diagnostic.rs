//! Mistakes in files that people wrote, and how they are shown.
//!
//! A [`Diagnostic`] says what is wrong (code and message), where (one primary label, further ones), and what to do
//! (help). All of a file's diagnostics are shown together. What a subject did wrong is a finding and not a diagnostic.

use std::fmt;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{Place, SourceFile, Span};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file can be used all the same.
    Warning,
    /// The file cannot be used.
    Error,
}

/// A place with words for it; the words may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The file.
    pub source: Arc<SourceFile>,
    /// What is underlined.
    pub span: Span,
    /// What is said about it.
    pub text: String,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name such as `case::unknown-method`.
    pub code: &'static str,
    /// What is wrong, in a lower-case sentence without a period.
    pub message: String,
    /// Where it is wrong.
    pub primary: Label,
    /// Other places that have to do with it.
    pub further: Vec<Label>,
    /// What to do about it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A mistake because of which the file cannot be used.
    #[must_use]
    pub fn error(code: &'static str, source: &Arc<SourceFile>, span: Span, message: impl Into<String>) -> Self {
        let primary = Label { source: Arc::clone(source), span, text: String::new() };
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            primary,
            further: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Says something beside the underlined place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Points at another place.
    #[must_use]
    pub fn also(mut self, source: &Arc<SourceFile>, span: Span, text: impl Into<String>) -> Self {
        self.further.push(Label { source: Arc::clone(source), span, text: text.into() });
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Says what to do, where there is something to say.
    #[must_use]
    pub fn maybe_help(mut self, text: Option<String>) -> Self {
        self.help.extend(text);
        self
    }

    /// Turns it into a mistake with which the file can still be used.
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Whether the file cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Where the underlined text begins.
    #[must_use]
    pub fn place(&self) -> Place {
        self.primary.source.place(self.primary.span.start)
    }

    /// Draws the diagnostic with the lines of its file, in the manner of rustc.
    #[must_use]
    pub fn render(&self, look: Look) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut files: Vec<&Arc<SourceFile>> = vec![&self.primary.source];
        for label in &self.further {
            if files.iter().all(|known| known.path() != label.source.path()) {
                files.push(&label.source);
            }
        }
        let mut group = Group::with_title(level.primary_title(self.message.as_str()).id(self.code));
        for file in files {
            let primary = (file.path() == self.primary.source.path()).then_some(&self.primary);
            let primary = primary.into_iter().map(|label| (AnnotationKind::Primary, label));
            let further = self.further.iter().filter(|label| label.source.path() == file.path());
            let further = further.map(|label| (AnnotationKind::Context, label));
            let mut snippet = Snippet::source(file.text()).path(file.path());
            for (kind, label) in primary.chain(further) {
                let text = (!label.text.is_empty()).then_some(label.text.as_str());
                snippet = snippet.annotation(kind.span(file.first_line(label.span).range()).label(text));
            }
            group = group.element(snippet);
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = match look {
            Look::Plain => Renderer::plain(),
            Look::Styled => Renderer::styled(),
        };
        renderer.render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Look::Plain))
    }
}

/// For whom diagnostics are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// For files and snapshots.
    Plain,
    /// For terminals, with colours.
    Styled,
}

/// Draws several diagnostics with an empty line between them, ending with a line feed unless there are none.
#[must_use]
pub fn render_all(diagnostics: &[Diagnostic], look: Look) -> String {
    let drawn: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.render(look)).collect();
    if drawn.is_empty() { String::new() } else { drawn.join("\n\n") + "\n" }
}

/// Orders diagnostics by file and place, and drops the ones that are said twice.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.primary.source.path().to_owned(), d.primary.span.start, d.code);
        key(a).cmp(&key(b))
    });
    diagnostics.dedup();
}

/// The candidate that was most likely meant by `word`, if any is near enough.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    let distances = candidates.into_iter().filter(|candidate| *candidate != word).map(|candidate| {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        // A word left out or added, as in `prompt` for `session/prompt`, is many letters but an easy slip.
        let part = lower.len() >= 4 && candidate.ends_with(&format!("/{lower}"));
        (if part { 1 } else { distance }, candidate)
    });
    distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, found)| found)
}

/// The sentence "did you mean …", or else the list of what there is.
#[must_use]
pub fn did_you_mean<'a>(word: &str, kind: &str, candidates: &[&'a str]) -> Option<String> {
    /// More than this is no help on one screen.
    const MOST: usize = 30;
    match nearest(word, candidates.iter().copied()) {
        Some(found) => Some(format!("did you mean `{found}`?")),
        None if candidates.is_empty() || candidates.len() > MOST => None,
        None => {
            let list: Vec<_> = candidates.iter().map(|candidate: &&'a str| format!("`{candidate}`")).collect();
            Some(format!("{kind}: {}", list.join(", ")))
        }
    }
}
