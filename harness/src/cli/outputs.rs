//! Report formats (`--format`) and their files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::output::{say, stdout};
use super::progress::ProgressLine;
use crate::diagnostic::nearest;
use crate::output_file::OutputFile;
use crate::report::{
    Detail, EventLines, GithubReport, JsonReport, JunitReport, MarkdownReport, PageReport, Renderer, SuiteEvent,
    TextReport,
};

/// A report format and its file, or standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    form: Form,
    file: Option<PathBuf>,
}

/// The report formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// for people
    Text,
    /// everything, for programs
    Json,
    /// JSON Lines while it runs
    Events,
    /// JUnit XML
    Junit,
    /// annotations of GitHub Actions, next to the text
    Github,
    /// the summary of a job
    Markdown,
    /// a self-contained page with a chart of every case
    Html,
}

impl Output {
    /// Adds a page in this file to the formats.
    pub fn with_page(forms: &[Self], page: Option<&Path>) -> Vec<Self> {
        let page = page.map(|file| Self { form: Form::Html, file: Some(file.to_owned()) });
        forms.iter().cloned().chain(page).collect()
    }

    /// Returns the same format with its file at the place that `place` returns.
    pub(super) fn in_folder(self, place: impl Fn(&Path) -> PathBuf) -> Self {
        Self { file: self.file.map(|file| place(&file)), ..self }
    }

    /// Returns the same format for the report of one version of the protocol, which is part of the file's name.
    ///
    /// # Errors
    ///
    /// It goes to standard output, where only text can hold several reports.
    pub(super) fn of_version(self, version: &str) -> anyhow::Result<Self> {
        let form = self.form.to_possible_value().map(|form| form.get_name().to_owned()).unwrap_or_default();
        let Some(file) = &self.file else {
            if matches!(self.form, Form::Text | Form::Github) {
                return Ok(self);
            }
            bail!("each version of the protocol has a report of its own: write --format {form}=FILE");
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let extension = file.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
        let name = format!("{stem}-{version}{}", extension.unwrap_or_default());
        Ok(Self { file: Some(file.with_file_name(name)), ..self })
    }

    /// Whether this format can hold reports on both parties.
    pub fn holds_both_parties(&self) -> bool {
        self.form == Form::Html
    }

    /// Whether this shows charts.
    pub fn has_charts(&self) -> bool {
        self.form == Form::Html
    }

    /// Whether this uses standard output.
    pub const fn is_to_stdout(&self) -> bool {
        self.file.is_none()
    }
}

/// Returns the short help text of `--format`.
pub fn help() -> String {
    format!("A report format: {}", names().join(", "))
}

/// Returns the help text of `--format`.
pub fn long_help() -> String {
    let named = |form: &Form| {
        let value = form.to_possible_value()?;
        Some(format!("{} ({})", value.get_name(), value.get_help()?))
    };
    let forms: Vec<String> = Form::value_variants().iter().filter_map(named).collect();
    format!(
        "A report format; may be repeated with a file each. Text goes to standard output, unless another format without a \
         file does. The formats: {}",
        forms.join(", ")
    )
}

/// Returns the names of all formats.
fn names() -> Vec<String> {
    let values = Form::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Reads `FORM` or `FORM=FILE`.
///
/// # Errors
///
/// The format does not exist; the message lists the existing ones.
pub fn parse(text: &str) -> Result<Output, String> {
    let (form, file) = text.split_once('=').map_or((text, None), |(form, file)| (form, Some(file)));
    let known = names();
    let form = Form::from_str(form, false).map_err(|_| {
        let near = nearest(form, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("the formats are {}{near}", known.join(", "))
    })?;
    match file {
        Some("") => Err(format!("the file name is missing: write {text}FILE")),
        file => Ok(Output { form, file: file.filter(|file| *file != "-").map(PathBuf::from) }),
    }
}

/// All outputs of a run.
pub(super) struct Outputs {
    open: Vec<OpenOutput>,
    /// What could not be written first. The run goes on, and its other outputs are completed.
    lost: Option<anyhow::Error>,
    /// Whether any of them shows charts.
    pub(super) charts: bool,
    pub(super) progress: Option<ProgressLine>,
    /// Whether text for people goes to standard output.
    pub(super) has_text: bool,
}

/// An output that is being written.
struct OpenOutput {
    renderer: Box<dyn Renderer>,
    /// Its file; `None` for standard output.
    path: Option<PathBuf>,
    /// The file that is completed when the run ends.
    draft: Option<OutputFile>,
}

impl OpenOutput {
    fn complete(mut self) -> io::Result<()> {
        self.renderer.close()?;
        // Dropping the renderer writes the end of its text.
        drop(self.renderer);
        self.draft.map_or(Ok(()), OutputFile::put)
    }
}

impl Outputs {
    /// Opens the wanted outputs. Text for people goes to standard output, unless another format uses it.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or two formats need standard output.
    pub(super) fn open(wanted: &[Output], detail: Detail) -> anyhow::Result<Self> {
        let wanted = complete(wanted)?;
        let charts = wanted.iter().any(Output::has_charts);
        let has_text = wanted.iter().any(|output| output.form == Form::Text && output.is_to_stdout());
        let mut outputs = Self { open: Vec::new(), lost: None, charts, progress: None, has_text };
        wanted.into_iter().try_for_each(|output| outputs.add(output, detail))?;
        Ok(outputs)
    }

    fn add(&mut self, output: Output, detail: Detail) -> anyhow::Result<()> {
        let Some(path) = output.file else {
            let renderer = of_form(output.form, Box::new(stdout()), detail);
            self.open.push(OpenOutput { renderer, path: None, draft: None });
            return Ok(());
        };
        let file: io::Result<(Box<dyn Write>, _)> = match output.form {
            // Other programs read these lines during the run.
            Form::Events => File::create(&path).map(|file| (Box::new(BufWriter::new(file)) as _, None)),
            _ => OutputFile::create(&path).and_then(|file| Ok((Box::new(file.writer()?) as _, Some(file)))),
        };
        let (file, draft) = file.with_context(|| unwritten(&path))?;
        let renderer = of_form(output.form, Box::new(anstream::StripStream::new(file)), detail);
        self.open.push(OpenOutput { renderer, path: Some(path), draft });
        Ok(())
    }

    /// Keeps the error of another file of the run until the end.
    pub(super) fn lose(&mut self, error: anyhow::Error) {
        self.lost.get_or_insert(error);
    }

    /// Prints a message on standard error, without the progress line.
    pub(super) fn say(&self, text: &str) {
        match &self.progress {
            Some(progress) => progress.apart(|| say(text)),
            None => say(text),
        }
    }

    /// Adds the progress line.
    pub(super) fn with(self, progress: Option<ProgressLine>) -> Self {
        Self { progress, ..self }
    }

    /// Passes an event to all renderers.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written. For files, [`Outputs::close`] returns the error.
    pub(super) fn event(&mut self, event: &SuiteEvent<'_>) -> anyhow::Result<()> {
        let Self { open, lost, progress, .. } = self;
        let mut render = || {
            let mut result = Ok(());
            open.retain_mut(|output| match (output.renderer.event(event), &output.path) {
                (Ok(()), _) => true,
                (Err(error), None) => {
                    result = Err(error);
                    false
                }
                (Err(error), Some(path)) => {
                    lost.get_or_insert(anyhow::Error::new(error).context(unwritten(path)));
                    false
                }
            });
            result
        };
        match progress {
            Some(progress) => progress.around(event, render)?,
            None => render()?,
        }
        Ok(())
    }

    /// Ends all renderers and completes their files.
    ///
    /// # Errors
    ///
    /// Something could not be written, now or before.
    pub(super) fn close(self) -> anyhow::Result<()> {
        let Self { open, mut lost, .. } = self;
        for output in open {
            let path = output.path.clone();
            if let Err(error) = output.complete() {
                let error = anyhow::Error::new(error);
                lost.get_or_insert(match path {
                    Some(path) => error.context(unwritten(&path)),
                    None => error,
                });
            }
        }
        lost.map_or(Ok(()), Err)
    }
}

fn unwritten(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Returns the requested outputs; text goes to standard output unless another format does.
fn complete(wanted: &[Output]) -> anyhow::Result<Vec<Output>> {
    let mut wanted = wanted.to_vec();
    for (index, output) in wanted.iter().enumerate() {
        if let Some(file) = output.file.as_ref().filter(|_| wanted[..index].iter().any(|o| o.file == output.file)) {
            bail!("two formats cannot share {}", file.display());
        }
    }
    let on_stdout: Vec<Form> = wanted.iter().filter(|output| output.is_to_stdout()).map(|output| output.form).collect();
    match on_stdout.as_slice() {
        // GitHub's runner finds its commands in any output of a job.
        [] | [Form::Github] => wanted.insert(0, Output { form: Form::Text, file: None }),
        [_] | [Form::Text, Form::Github] | [Form::Github, Form::Text] => {}
        _ => bail!("two formats cannot share standard output; write one to a file: --format FORM=FILE"),
    }
    Ok(wanted)
}

fn of_form(form: Form, out: Box<dyn Write>, detail: Detail) -> Box<dyn Renderer> {
    match form {
        Form::Text => Box::new(TextReport::new(out, detail)),
        Form::Json => Box::new(JsonReport(out)),
        Form::Events => Box::new(EventLines(out)),
        Form::Junit => Box::new(JunitReport::new(out)),
        Form::Github => Box::new(GithubReport(out)),
        Form::Markdown => Box::new(MarkdownReport::new(out)),
        Form::Html => Box::new(PageReport::new(out)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_may_have_a_file() {
        let to = |file: Option<&str>| Ok(Output { form: Form::Json, file: file.map(PathBuf::from) });
        assert_eq!(parse("json"), to(None));
        assert_eq!(parse("json=-"), to(None));
        assert_eq!(parse("json=a=b.json"), to(Some("a=b.json")));
        assert!(parse("json=").is_err_and(|error| error.contains("json=FILE")));
        assert!(parse("yaml").is_err_and(|error| error.contains("text, json")));
    }

    #[test]
    fn versions_have_files_of_their_own() {
        let file = |text: &str| parse(text).map(|output| output.of_version("v2").map(|output| output.file));
        assert_eq!(file("json=a/b.json").map(Result::ok), Ok(Some(Some(PathBuf::from("a/b-v2.json")))));
        assert_eq!(file("junit=b").map(Result::ok), Ok(Some(Some(PathBuf::from("b-v2")))));
        assert_eq!(file("text").map(Result::ok), Ok(Some(None)));
        assert!(file("json").is_ok_and(|refused| refused.is_err()));
    }

    #[test]
    fn only_one_form_takes_standard_output() {
        let forms = |wanted: &[Form]| {
            let wanted: Vec<_> = wanted.iter().map(|form| Output { form: *form, file: None }).collect();
            complete(&wanted).map(|all| all.iter().map(|output| output.form).collect::<Vec<_>>()).ok()
        };
        assert_eq!(forms(&[]), Some(vec![Form::Text]));
        assert_eq!(forms(&[Form::Json]), Some(vec![Form::Json]));
        assert_eq!(forms(&[Form::Json, Form::Junit]), None);
        assert_eq!(
            forms(&[Form::Github]),
            Some(vec![Form::Text, Form::Github]),
            "the annotations are next to the text"
        );
        assert_eq!(forms(&[Form::Github, Form::Text]), Some(vec![Form::Github, Form::Text]));
        assert_eq!(forms(&[Form::Github, Form::Json]), None);
    }

    #[test]
    fn only_one_form_takes_a_file() {
        let to = |form, file: &str| Output { form, file: Some(PathBuf::from(file)) };
        assert!(
            complete(&[to(Form::Json, "a"), to(Form::Junit, "a")]).is_err_and(|error| error.to_string().contains("a"))
        );
        assert!(complete(&[to(Form::Json, "a"), to(Form::Junit, "b")]).is_ok_and(|all| all.len() == 3));
    }

    #[test]
    fn every_form_is_told_of() {
        let help = long_help();
        let all = Form::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        all.for_each(|form| assert!(form.get_help().is_some() && help.contains(form.get_name()), "{form:?}"));
    }
}
