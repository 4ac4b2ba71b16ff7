//! Mistakes in files that people write, and their display.
//!
//! A [`Diagnostic`] describes a mistake (code and message), its place (one primary label, further ones), and the remedy
//! (help). All of a file's diagnostics are shown together. A mistake of a subject is a finding and not a diagnostic.

use std::fmt;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{Place, SourceFile, Span};

/// The severity of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file can still be used.
    Warning,
    /// The file cannot be used.
    Error,
}

/// A place with a note, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The file.
    pub source: Arc<SourceFile>,
    /// The underlined part.
    pub span: Span,
    /// The note.
    pub text: String,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// A stable name such as `case::unknown-method`.
    pub code: &'static str,
    /// The mistake, in a lower-case sentence without a period.
    pub message: String,
    /// The place of the mistake.
    pub primary: Label,
    /// Other related places.
    pub further: Vec<Label>,
    /// The remedies.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Creates a mistake that makes the file unusable.
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

    /// Adds a note at the underlined place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    pub fn also(mut self, source: &Arc<SourceFile>, span: Span, text: impl Into<String>) -> Self {
        self.further.push(Label { source: Arc::clone(source), span, text: text.into() });
        self
    }

    /// Adds a remedy.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds a remedy, if there is one.
    pub fn maybe_help(mut self, text: Option<String>) -> Self {
        self.help.extend(text);
        self
    }

    /// Turns the mistake into a warning.
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Whether the file is unusable.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns the beginning of the underlined text.
    pub fn place(&self) -> Place {
        self.primary.source.place(self.primary.span.start)
    }

    /// Draws the diagnostic with the lines of its file, in the style of rustc.
    pub fn render(&self, style: RenderStyle) -> String {
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
        let renderer = match style {
            RenderStyle::Plain => Renderer::plain(),
            RenderStyle::Styled => Renderer::styled(),
        };
        renderer.render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(RenderStyle::Plain))
    }
}

/// The target of drawn diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderStyle {
    /// For files and snapshots.
    Plain,
    /// For terminals, with colours.
    Styled,
}

/// Draws several diagnostics separated by empty lines, with a final line feed; empty for an empty list.
pub fn render_all(diagnostics: &[Diagnostic], style: RenderStyle) -> String {
    let drawn: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.render(style)).collect();
    if drawn.is_empty() { String::new() } else { drawn.join("\n\n") + "\n" }
}

/// Sorts diagnostics by file and place, and drops duplicates.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.primary.source.path().to_owned(), d.primary.span.start, d.code);
        key(a).cmp(&key(b))
    });
    diagnostics.dedup();
}

/// Returns the candidate most similar to `word`, if any is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    let distances = candidates.into_iter().filter(|candidate| *candidate != word).map(|candidate| {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        // A missing word, as in `prompt` for `session/prompt` or `gemini` for `gemini-cli`, is many letters but an easy
        // mistake.
        let has_part = candidate.ends_with(&format!("/{lower}")) || candidate.starts_with(&format!("{lower}-"));
        let part = lower.len() >= 4 && has_part;
        (if part { 1 } else { distance }, candidate)
    });
    distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, found)| found)
}

/// Returns the sentence "did you mean …", or else the list of candidates.
pub fn did_you_mean<'a>(word: &str, kind: &str, candidates: &[&'a str]) -> Option<String> {
    /// The most candidates; more do not help on one screen.
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
