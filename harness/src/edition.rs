//! The editions that are built into the program: for each one its schemas, its requirements and its cases.
//!
//! An [`Edition`] itself is a value of the core, which embeds no files. A [`Bundle`] adds the files that this program
//! contains, and loads them on first use.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;

use crate::diagnostic::nearest;
use crate::packed::{Folder, Text, packed, packed_folder};
use crate::protocol::{self, Adapter, Edition, EditionSource, OtherSource, edition_stage, sha256};
use crate::requirement::{Catalogue, CatalogueRevision, Difference, Party, Requirement};
use crate::trace::Header;

/// The files of one edition.
pub struct Bundle {
    files: Files,
    catalogue: OnceLock<Result<Arc<Catalogue>, BuiltInError>>,
    edition: OnceLock<Result<Edition, BuiltInError>>,
}

/// The parts of a [`Bundle`].
#[derive(Clone, Copy)]
pub struct Files {
    /// The name, such as `v1@2026-11-20`.
    pub name: &'static str,
    /// The integer that is negotiated in `initialize`.
    pub major: u16,
    /// The differences between majors that the schema does not contain.
    pub adapter: &'static dyn Adapter,
    /// The stable schema.
    pub stable: Text,
    /// The unstable schema.
    pub unstable: Text,
    /// Another known revision of the major.
    pub other_revision: Option<OtherSource>,
    /// The edition before it, if the requirements are differences from that one.
    pub base: Option<&'static Bundle>,
    /// The requirements as YAML: a list, or the differences.
    pub catalogue: Text,
    /// The requirements as JSON, which is ten times faster to read; without it, each start reads the YAML.
    pub lowered_catalogue: Option<Text>,
    /// The folder of `cases/` that holds the cases of the major: `v1`. A case belongs to an edition that has all
    /// requirements which it names.
    pub folder: &'static str,
    /// The content of that folder.
    pub cases: Folder,
    /// The heads of the cases as JSON, by the path of the file below `cases/`: the members that a list shows.
    pub heads: Option<Text>,
}

/// The [`Files`] of the first edition of a version, which the newest one follows.
macro_rules! first_edition {
    ($version:literal, $major:literal, $adapter:expr) => {
        Files {
            name: concat!($version, "@2026-11-02"),
            major: $major,
            adapter: $adapter,
            stable: packed!("2026-11-02-" $version "-schema.json"),
            unstable: packed!("2026-11-02-" $version "-schema.unstable.json"),
            other_revision: Some(OtherSource {
                revision: "2026-11-20",
                is_later: true,
                files: &[
                    packed!("2026-11-20-" $version "-schema.json"),
                    packed!("2026-11-20-" $version "-schema.unstable.json"),
                ],
            }),
            base: None,
            catalogue: packed!($version ".yaml"),
            lowered_catalogue: Some(packed!($version ".json")),
            folder: $version,
            cases: packed_folder!("cases-" $version ".json"),
            heads: Some(packed!("heads-" $version ".json")),
        }
    };
}

/// The [`Files`] of the newest edition of a version, whose requirements are differences from those of `$base`.
macro_rules! newest_edition {
    ($version:literal, $major:literal, $adapter:expr, $base:expr) => {
        Files {
            name: concat!($version, "@2026-11-20"),
            stable: packed!("2026-11-20-" $version "-schema.json"),
            unstable: packed!("2026-11-20-" $version "-schema.unstable.json"),
            other_revision: Some(OtherSource {
                revision: "2026-11-02",
                is_later: false,
                files: &[packed!("2026-11-02-" $version "-schema.unstable.json")],
            }),
            base: Some($base),
            catalogue: packed!($version "@2026-11-20.yaml"),
            lowered_catalogue: Some(packed!($version "@2026-11-20.json")),
            ..first_edition!($version, $major, $adapter)
        }
    };
}

/// Protocol version 1, stable: the newest revision.
pub static V1: Bundle = Bundle::new(newest_edition!("v1", 1, &protocol::V1, &V1_OF_2026_11_02));

/// Protocol version 1 before system prompts, plan operations and subagents.
pub static V1_OF_2026_11_02: Bundle = Bundle::new(first_edition!("v1", 1, &protocol::V1));

/// Protocol version 2, a preview: the newest revision.
pub static V2: Bundle = Bundle::new(newest_edition!("v2", 2, &protocol::V2, &V2_OF_2026_11_02));

/// Protocol version 2 when it was a draft.
pub static V2_OF_2026_11_02: Bundle = Bundle::new(first_edition!("v2", 2, &protocol::V2));

/// The requirements of drafts that hold for every version: the file, as YAML, and as JSON.
const DRAFTS: (&str, Text, Text) = ("cases/requirements/drafts.yaml", packed!("drafts.yaml"), packed!("drafts.json"));

/// The names that editions had in earlier versions of this program, in traces and reports.
const FORMER_NAMES: [(&str, &str); 2] = [("v1@2026-11", "v1@2026-11-02"), ("v2@2026-11", "v2@2026-11-02")];

/// A built-in file that cannot be used. The tests of this package exclude this for its own files.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{file}: {message}")]
pub struct BuiltInError {
    file: String,
    message: String,
}

impl Bundle {
    /// Creates a bundle of these files; nothing is read yet.
    pub const fn new(files: Files) -> Self {
        Self { files, catalogue: OnceLock::new(), edition: OnceLock::new() }
    }

    /// Returns the name of the edition, such as `v1@2026-11-20`.
    pub const fn name(&self) -> &'static str {
        self.files.name
    }

    /// Returns the name of the edition for people, which marks a draft.
    pub fn label(&self) -> String {
        protocol::edition_label(self.name()).into_owned()
    }

    /// Returns whether the edition is not stable: a draft or a preview of the protocol.
    pub fn is_draft(&self) -> bool {
        edition_stage(self.name()).is_some()
    }

    /// Returns the edition before it, of the same major.
    pub const fn base(&self) -> Option<&'static Self> {
        self.files.base
    }

    /// Returns the differences of its requirements from an earlier edition of the major, the newest change of each;
    /// `None` if that one is not earlier.
    pub fn differences_since(&'static self, earlier: &str) -> Option<Vec<&'static Difference>> {
        let mut differences = Vec::new();
        let mut bundle = self;
        while bundle.name() != earlier {
            differences.extend(bundle.catalogue().differences());
            bundle = bundle.files.base?;
        }
        Some(differences)
    }

    /// Returns the edition.
    ///
    /// # Panics
    ///
    /// If a built-in file is broken, which [`Self::check`] reports without a panic.
    pub fn edition(&'static self) -> &'static Edition {
        self.try_edition().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the requirements, without reading the schemas.
    ///
    /// # Panics
    ///
    /// If the built-in file is broken, which [`Self::check`] reports without a panic.
    pub fn catalogue(&'static self) -> &'static Catalogue {
        self.try_catalogue().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Checks that schemas and requirements can be read.
    ///
    /// # Errors
    ///
    /// Names the first broken file and its first problem.
    pub fn check(&'static self) -> Result<(), &'static BuiltInError> {
        self.try_edition().map(|_| ())
    }

    fn try_edition(&'static self) -> Result<&'static Edition, &'static BuiltInError> {
        let catalogue = self.try_catalogue()?;
        let load = || {
            let Files { name, major, adapter, stable, unstable, other_revision, .. } = self.files;
            let source =
                EditionSource { name, major, stable: &stable(), unstable: &unstable(), other_revision, adapter };
            Edition::load(source, Arc::clone(catalogue))
                .map_err(|error| BuiltInError { file: format!("the schema of {name}"), message: error.to_string() })
        };
        self.edition.get_or_init(load).as_ref()
    }

    fn try_catalogue(&'static self) -> Result<&'static Arc<Catalogue>, &'static BuiltInError> {
        let load = || {
            let read = match self.files.base {
                None => self.lowered(yaml::<Vec<Requirement>>).and_then(|mut entries| {
                    let (_, _, drafts) = DRAFTS;
                    let further: Vec<Requirement> =
                        serde_json::from_str(&drafts()).map_err(|error| error.to_string())?;
                    entries.extend(further);
                    Catalogue::new(entries).map_err(|error| error.to_string())
                }),
                Some(base) => {
                    let base = base.try_catalogue().map_err(Clone::clone)?;
                    self.lowered(yaml::<CatalogueRevision>)
                        .and_then(|revision| revision.apply(base).map_err(|error| error.to_string()))
                }
            };
            read.map(Arc::new).map_err(|message| BuiltInError { file: self.catalogue_file(), message })
        };
        self.catalogue.get_or_init(load).as_ref()
    }

    /// Reads the requirements from the lowered text, or else from the YAML.
    fn lowered<T: DeserializeOwned>(&self, of_yaml: fn(&str) -> Result<T, String>) -> Result<T, String> {
        match self.files.lowered_catalogue {
            Some(lowered) => serde_json::from_str(&lowered()).map_err(|error| error.to_string()),
            None => of_yaml(&(self.files.catalogue)()),
        }
    }

    /// Returns the path of the requirements below the root of the repository: a list, or the differences from the
    /// edition before.
    pub fn catalogue_file(&self) -> String {
        let name = if self.files.base.is_some() { self.files.name } else { self.files.folder };
        format!("cases/requirements/{name}.yaml")
    }

    /// Returns the address of the page that a requirement comes from.
    pub fn link(&self, requirement: &Requirement) -> Option<String> {
        requirement.link(self.files.major)
    }

    /// Returns the SHA-256 over the requirements and cases: of the output of `sha256sum` for their files, with their
    /// paths from the root of the repository and in the order of these.
    pub fn content_sha256(&self) -> String {
        let mut catalogues = String::new();
        let mut bundle = Some(self);
        while let Some(Self { files, .. }) = bundle {
            let line = |bundle: &Self| format!("{}  {}\n", sha256(&*(files.catalogue)()), bundle.catalogue_file());
            catalogues.insert_str(0, &bundle.map_or_else(String::new, line));
            bundle = files.base;
        }
        let (drafts, text, _) = DRAFTS;
        catalogues.insert_str(0, &format!("{}  {drafts}\n", sha256(&*text())));
        let cases = self.case_files().into_iter();
        let cases = cases.map(|(path, bytes)| format!("{}  cases/{path}\n", sha256(bytes)));
        sha256(catalogues + &cases.collect::<String>())
    }

    /// Returns the folder of `cases/` that holds the cases, such as `v1`.
    pub const fn case_folder(&self) -> &'static str {
        self.files.folder
    }

    /// Returns the case files and includes: the path below `cases/` and the content of each, in the order of the paths.
    pub fn case_files(&self) -> Vec<(String, &'static [u8])> {
        let Files { folder, cases, .. } = self.files;
        cases().iter().map(|(path, text)| (format!("{folder}/{path}"), text.as_bytes())).collect()
    }

    /// Returns the heads of the cases as JSON, if the build made them.
    pub fn case_heads(&self) -> Option<Cow<'static, str>> {
        Some((self.files.heads?)())
    }

    /// Returns the id of the case that only connects, to test whether the subject supports the protocol.
    pub fn handshake(&self, subject: Party) -> String {
        format!("{}/{subject}/init/handshake", self.files.folder)
    }
}

fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Bundle").field(&self.name()).finish()
    }
}

/// The editions that a command may use.
#[derive(Clone)]
pub struct Editions {
    all: Vec<&'static Bundle>,
    /// Whether the preferred one was chosen exactly, and not by its version.
    is_exact: bool,
}

/// An edition that this program does not have.
#[derive(Debug, thiserror::Error)]
#[error("this program does not know the edition {name:?}; {remedy}")]
pub struct UnknownEdition {
    /// Its name.
    pub name: String,
    /// The edition that was probably meant, or all of them.
    remedy: String,
}

impl Editions {
    /// Returns the built-in editions.
    pub fn built_in() -> Self {
        Self { all: vec![&V1, &V2, &V1_OF_2026_11_02, &V2_OF_2026_11_02], is_exact: false }
    }

    /// Adds an edition.
    pub fn with(mut self, bundle: &'static Bundle) -> Self {
        self.all.push(bundle);
        self
    }

    /// Returns all editions, the default one first.
    pub fn all(&self) -> &[&'static Bundle] {
        &self.all
    }

    /// Returns the editions without those that a later one follows, unless one of these is preferred; the default one
    /// first.
    pub fn current(&self) -> Vec<&'static Bundle> {
        let mut current: Vec<&'static Bundle> = Vec::new();
        for &bundle in &self.all {
            if !current.iter().any(|known| known.files.folder == bundle.files.folder) {
                current.push(bundle);
            }
        }
        current
    }

    /// Returns the current editions, that of the newest version first.
    pub fn newest_first(&self) -> Vec<&'static Bundle> {
        let mut bundles = self.current();
        bundles.sort_by_key(|bundle| Reverse((bundle.files.major, bundle.name())));
        bundles
    }

    /// Returns whether one of these requirements exists, or is decided, only in another edition than this one.
    pub(crate) fn are_of_other(&self, name: &str, catalogue: &Catalogue, requirements: &[String]) -> bool {
        let is_decided = |catalogue: &Catalogue, id: &str| catalogue.find(id).is_some_and(Requirement::is_decided);
        let mut undecided = requirements.iter().filter(|id| !is_decided(catalogue, id));
        undecided.any(|id| self.siblings(name).any(|other| is_decided(other.catalogue(), id)))
    }

    /// Returns the other editions of the same major as the one with this name; none if it is unknown.
    fn siblings(&self, name: &str) -> impl Iterator<Item = &'static Bundle> {
        let own = self.named(name).ok();
        let of_major = move |bundle: &&'static Bundle| own.is_some_and(|own| own.files.folder == bundle.files.folder);
        self.all
            .clone()
            .into_iter()
            .filter(of_major)
            .filter(move |bundle| own.is_some_and(|own| own.name() != bundle.name()))
    }

    /// Returns the edition of this major version, if there is one.
    pub fn of_major(&self, major: u64) -> Option<&'static Bundle> {
        self.all.iter().find(|bundle| u64::from(bundle.files.major) == major).copied()
    }

    /// Returns the default edition.
    pub fn preferred(&self) -> &'static Bundle {
        self.all[0]
    }

    /// Makes the edition with this name the preferred one, as for [`Self::named`].
    ///
    /// # Errors
    ///
    /// As for [`Self::named`].
    pub fn prefer(&mut self, name: &str) -> Result<(), UnknownEdition> {
        let bundle = self.named(name)?;
        self.all.retain(|known| known.name() != bundle.name());
        self.all.insert(0, bundle);
        self.is_exact = bundle.name() == name;
        Ok(())
    }

    /// Whether the user chose exactly this edition, and not its version.
    pub fn chose_exactly(&self, name: &str) -> bool {
        self.is_exact && self.preferred().name() == name
    }

    /// Returns the edition that a trace was recorded with.
    ///
    /// # Errors
    ///
    /// As for [`Self::named`].
    pub fn of(&self, header: &Header) -> Result<&'static Bundle, UnknownEdition> {
        self.named(&header.edition)
    }

    /// Returns the edition with this name, as in the header of a trace; an earlier program may have used another name.
    /// A protocol version, such as `v2`, means its newest edition.
    ///
    /// # Errors
    ///
    /// The edition is unknown; the error lists the known ones.
    pub fn named(&self, name: &str) -> Result<&'static Bundle, UnknownEdition> {
        let known = FORMER_NAMES.iter().find(|(former, _)| *former == name).map_or(name, |(_, known)| known);
        let of_version = |bundle: &&&Bundle| bundle.name().split_once('@').is_some_and(|(version, _)| version == name);
        let newest = || self.all.iter().filter(of_version).max_by_key(|bundle| bundle.name());
        let found = self.all.iter().find(|bundle| bundle.name() == known).or_else(newest);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|bundle| bundle.name()).collect();
            let near = match name.trim_start_matches(['v', 'V']).parse() {
                Ok(major) => self.of_major(major).and_then(|bundle| bundle.name().split('@').next()),
                Err(_) => nearest(name, names.iter().copied()),
            };
            let remedy = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it knows {}", names.join(", ")),
            };
            UnknownEdition { name: name.to_owned(), remedy }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_words_of_a_requirement_with_place_and_help() {
        let text = (V1_OF_2026_11_02.files.catalogue)();
        for (fact, known) in [("needs: [history", "ends"), ("flags: [capability", "any-version")] {
            let at = text.find(fact).expect("a requirement with such a fact") + fact.len();
            let line = text[..at].lines().count();
            let error = yaml::<Vec<Requirement>>(&format!("{}x{}", &text[..at], &text[at..]));
            let error = error.expect_err("an unknown word");
            assert!(error.contains(&format!("line {line}")) && error.contains(known), "{error}");
        }
    }

    const ALL: [&Bundle; 4] = [&V1, &V2, &V1_OF_2026_11_02, &V2_OF_2026_11_02];

    #[test]
    fn vendored_schemas_are_the_published_bytes() {
        for bundle in ALL {
            let Files { name, folder, stable, unstable, .. } = bundle.files;
            let (_, day) = name.split_once('@').expect("a day");
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/acp").join(day);
            let origin = std::fs::read_to_string(root.join("ORIGIN.toml")).expect("an origin");
            let origin: toml::Table = toml::from_str(&origin).expect("ORIGIN.toml parses");
            assert_eq!(origin["published"].as_str(), Some(day));
            for (file, text) in [("schema.json", stable), ("schema.unstable.json", unstable)] {
                let expected = origin["sha256"][format!("{folder}/{file}").as_str()].as_str();
                assert_eq!(expected, Some(sha256(&*text()).as_str()), "{file} of {name} was changed");
            }
        }
    }

    /// The judge takes these parts for proof that a program is not older.
    #[test]
    fn parts_that_show_a_revision_are_new_in_it() {
        let files = [&V2, &V2_OF_2026_11_02].map(|bundle| &bundle.edition().unstable);
        let kinds =
            ["replay_complete", "cursor_update", "prompt_suggestions_update"].map(|kind| ("SessionUpdate", kind));
        for (definition, value) in kinds.into_iter().chain([("ToolCallContent", "session")]) {
            assert_eq!(files.map(|file| file.has_value(definition, value)), [true, false], "{value}");
        }
        for (definition, member) in [("PromptRequest", "idempotencyKey"), ("PlanMarkdown", "path")] {
            let has = |file: &protocol::Schema| {
                file.definition(definition).is_some_and(|it| it["properties"].get(member).is_some())
            };
            assert_eq!(files.map(has), [true, false], "{member}");
        }
    }

    #[test]
    fn an_edition_knows_the_other_revision() {
        for (bundle, member) in [(&V1_OF_2026_11_02, "systemPrompt"), (&V2_OF_2026_11_02, "idempotencyKey")] {
            let other = bundle.edition().other_revision.as_ref().expect("another revision");
            assert!(other.has_member(member) && other.knows(Party::Client, "session/prompt"), "{}", bundle.name());
        }
        let plan = |kind: &str| {
            let plan = serde_json::json!({ "type": kind, "planId": "p", "entries": "none" });
            serde_json::json!({ "sessionId": "s", "update": { "sessionUpdate": "plan_update", "plan": plan } })
        };
        let places = |kind| {
            let found = V1.edition().differences("SessionNotification", &plan(kind));
            (found.problems.into_iter().map(|problem| problem.at).collect::<Vec<_>>(), found.of_other_revision)
        };
        assert_eq!(places("file"), (vec![], vec!["/update/plan/type".to_owned()]));
        assert_eq!(places("items"), (vec!["/update/plan/entries".to_owned()], vec![]));
    }

    #[test]
    fn packed_texts_are_those_of_the_files() {
        for bundle in ALL {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(bundle.catalogue_file());
            assert_eq!((bundle.files.catalogue)(), std::fs::read_to_string(file).expect("a text"), "{}", bundle.name());
        }
    }

    #[test]
    fn lowered_requirements_are_those_of_the_yaml() {
        for bundle in ALL {
            let lowered = bundle.files.lowered_catalogue.expect("the build made it");
            let written: serde_json::Value = yaml(&(bundle.files.catalogue)()).expect("YAML");
            assert_eq!(lowered(), written.to_string(), "{}", bundle.name());
        }
        let (file, written, lowered) = DRAFTS;
        assert_eq!(lowered(), yaml::<serde_json::Value>(&written()).expect("YAML").to_string(), "{file}");
    }

    #[test]
    fn differences_lead_from_one_edition_to_a_later_one() {
        let since = V1.differences_since("v1@2026-11-02").expect("an earlier edition");
        assert!(since.iter().any(|it| it.id == "subagent.gate") && since.len() > 50);
        assert_eq!(V1.differences_since("v1@2026-11-20"), Some(vec![]));
        assert_eq!(V1_OF_2026_11_02.differences_since("v1@2026-11-20"), None);
    }

    #[test]
    fn a_former_name_means_the_same_edition() {
        let editions = Editions::built_in();
        assert_eq!(editions.named("v1@2026-11").map(Bundle::name).ok(), Some("v1@2026-11-02"));
        assert_eq!(editions.current().iter().map(|it| it.name()).collect::<Vec<_>>(), [V1.name(), V2.name()]);
    }

    #[test]
    fn a_version_means_its_newest_edition() {
        let mut editions = Editions::built_in();
        editions.prefer("v2").expect("version 2 is built in");
        assert_eq!(editions.preferred().name(), "v2@2026-11-20");
    }

    #[test]
    fn refuses_unknown_editions() {
        let error = Editions::built_in().named("v9@2040-01").expect_err("no such edition").to_string();
        let known = "v1@2026-11-20, v2@2026-11-20, v1@2026-11-02, v2@2026-11-02";
        assert_eq!(error, format!("this program does not know the edition \"v9@2040-01\"; it knows {known}"));
    }
}
