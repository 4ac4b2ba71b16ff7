//! The forms in which a result is wanted, and where each of them goes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::output::stdout;
use crate::report::{JsonReport, PageReport, Renderer, SuiteEvent, TextReport};

/// A form of the result, and the file that it goes to; standard output without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    form: Form,
    file: Option<PathBuf>,
}

/// The forms of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people
    Text,
    /// For programs; see `schemas/report.schema.json`
    Json,
    /// A page to look at, in one file, with a chart of every case
    Html,
}

impl Output {
    /// These forms, and a page in this file.
    #[must_use]
    pub fn with_page(forms: &[Self], page: Option<&Path>) -> Vec<Self> {
        let page = page.map(|file| Self { form: Form::Html, file: Some(file.to_owned()) });
        forms.iter().cloned().chain(page).collect()
    }

    /// Whether this can hold the reports on both parties.
    #[must_use]
    pub fn holds_both_parties(&self) -> bool {
        self.form == Form::Html
    }

    /// Whether this takes standard output.
    #[must_use]
    pub fn is_to_stdout(&self) -> bool {
        self.file.is_none()
    }
}

/// Reads `FORM` or `FORM=FILE`.
///
/// # Errors
///
/// That there is no such form, with those that there are.
pub fn parse(text: &str) -> Result<Output, String> {
    let (form, file) = text.split_once('=').map_or((text, None), |(form, file)| (form, Some(file)));
    let known: Vec<String> = Form::value_variants()
        .iter()
        .filter_map(|form| Some(form.to_possible_value()?.get_name().to_owned()))
        .collect();
    let form = Form::from_str(form, false).map_err(|_| format!("there are {}", known.join(", ")))?;
    match file {
        Some("") => Err(format!("which file? Write {text}FILE")),
        file => Ok(Output { form, file: file.filter(|file| *file != "-").map(PathBuf::from) }),
    }
}

/// Everything that a run is told to.
pub(super) struct Outputs {
    renderers: Vec<Box<dyn Renderer>>,
    /// Whether any of them shows charts.
    pub(super) charts: bool,
}

impl Outputs {
    /// Opens what is wanted. Text for people goes to standard output, unless something else does.
    ///
    /// # Errors
    ///
    /// That a file cannot be written, or that two forms want standard output.
    pub(super) fn open(wanted: &[Output], quiet: bool) -> anyhow::Result<Self> {
        let mut wanted = wanted.to_vec();
        match wanted.iter().filter(|output| output.is_to_stdout()).count() {
            0 => wanted.insert(0, Output { form: Form::Text, file: None }),
            1 => {}
            _ => bail!("two forms cannot share standard output; give one a file: --format FORM=FILE"),
        }
        let charts = wanted.iter().any(|output| output.form == Form::Html);
        let renderers = wanted.into_iter().map(|output| renderer(output, quiet)).collect::<anyhow::Result<_>>()?;
        Ok(Self { renderers, charts })
    }

    /// Tells all of them.
    ///
    /// # Errors
    ///
    /// Only those of writing.
    pub(super) fn event(&mut self, event: &SuiteEvent<'_>) -> anyhow::Result<()> {
        self.renderers.iter_mut().try_for_each(|renderer| renderer.event(event))?;
        Ok(())
    }

    /// Tells all of them that nothing more comes.
    ///
    /// # Errors
    ///
    /// Only those of writing.
    pub(super) fn close(mut self) -> anyhow::Result<()> {
        self.renderers.iter_mut().try_for_each(|renderer| renderer.close())?;
        Ok(())
    }
}

fn renderer(output: Output, quiet: bool) -> anyhow::Result<Box<dyn Renderer>> {
    let Some(path) = output.file else { return Ok(of_form(output.form, stdout(), quiet)) };
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let file: Box<dyn Write> = Box::new(BufWriter::new(file));
    Ok(of_form(output.form, anstream::StripStream::new(file), quiet))
}

fn of_form(form: Form, out: impl Write + 'static, quiet: bool) -> Box<dyn Renderer> {
    match form {
        Form::Text => Box::new(TextReport::new(out, quiet)),
        Form::Json => Box::new(JsonReport::new(out)),
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
    fn only_one_form_takes_standard_output() {
        assert!(Outputs::open(&[], false).is_ok_and(|outputs| outputs.renderers.len() == 1));
        let json = Output { form: Form::Json, file: None };
        assert!(Outputs::open(&[json.clone(), json], false).is_err());
    }
}
