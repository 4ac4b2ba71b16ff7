//! The editions that are built into the program: for each one its schemas, its requirements and its cases.
//!
//! An [`Edition`] itself is a value of the core, which embeds no files. A [`Bundle`] adds the files that this program
//! contains, and loads them on first use.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use crate::packed::{Folder, Text, packed, packed_folder};
use crate::protocol::{self, Adapter, Edition, EditionSource, NewerSource, sha256};
use crate::requirement::{Catalogue, Party, Requirement};
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
    /// The name, such as `v1@2026-11`.
    pub name: &'static str,
    /// The integer that is negotiated in `initialize`.
    pub major: u16,
    /// The differences between majors that the schema does not contain.
    pub adapter: &'static dyn Adapter,
    /// The stable schema.
    pub stable: Text,
    /// The unstable schema.
    pub unstable: Text,
    /// The newest known schema of the major, if it is newer.
    pub newer: Option<NewerSource>,
    /// The requirements as YAML.
    pub catalogue: Text,
    /// The folder of `cases/` that holds the cases: `v1`.
    pub folder: &'static str,
    /// The content of that folder.
    pub cases: Folder,
    /// The requirements and cases as lowered by the build; without them, a program reads the YAML at each start.
    pub lowered: Option<Lowered>,
}

/// The parts of an edition that each start reads, as JSON, which is ten times faster to read than YAML.
#[derive(Clone, Copy)]
pub struct Lowered {
    /// The list of requirements.
    pub requirements: Text,
    /// The heads of the cases, by the path of the file below `cases/`: the members that a list shows.
    pub heads: Text,
}

/// The revision of the newest known schemas.
const NEWEST_REVISION: &str = "1.20.0";

/// Protocol version 1, stable.
pub static V1: Bundle = Bundle::new(Files {
    name: "v1@2026-11",
    major: 1,
    adapter: &protocol::V1,
    stable: packed!("schema-v1.json"),
    unstable: packed!("schema-v1.unstable.json"),
    newer: Some(NewerSource {
        revision: NEWEST_REVISION,
        stable: packed!("newest-v1.json"),
        unstable: packed!("newest-v1.unstable.json"),
    }),
    catalogue: packed!("requirements-v1.yaml"),
    folder: "v1",
    cases: packed_folder!("cases-v1.json"),
    lowered: Some(Lowered { requirements: packed!("requirements-v1.json"), heads: packed!("heads-v1.json") }),
});

/// Protocol version 2, a draft.
pub static V2: Bundle = Bundle::new(Files {
    name: "v2@2026-11",
    major: 2,
    adapter: &protocol::V2,
    stable: packed!("schema-v2.json"),
    unstable: packed!("schema-v2.unstable.json"),
    newer: Some(NewerSource {
        revision: NEWEST_REVISION,
        stable: packed!("newest-v2.json"),
        unstable: packed!("newest-v2.unstable.json"),
    }),
    catalogue: packed!("requirements-v2.yaml"),
    folder: "v2",
    cases: packed_folder!("cases-v2.json"),
    lowered: Some(Lowered { requirements: packed!("requirements-v2.json"), heads: packed!("heads-v2.json") }),
});

/// A built-in file that cannot be used. The tests of this package exclude this for its own files.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{file}: {message}")]
pub struct BuiltInError {
    file: String,
    message: String,
}

impl Bundle {
    /// Creates a bundle of these files; nothing is read yet.
    #[must_use]
    pub const fn new(files: Files) -> Self {
        Self { files, catalogue: OnceLock::new(), edition: OnceLock::new() }
    }

    /// Returns the name of the edition, such as `v1@2026-11`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.files.name
    }

    /// Returns the name of the edition for people, which marks a draft.
    #[must_use]
    pub fn label(&self) -> String {
        protocol::edition_label(self.name()).into_owned()
    }

    /// Returns whether the edition is a draft of the protocol.
    #[must_use]
    pub fn is_draft(&self) -> bool {
        u64::from(self.files.major) > protocol::NEWEST_STABLE_MAJOR
    }

    /// Returns the published schema, with nothing added.
    #[must_use]
    pub fn schema_text(&self) -> Cow<'static, str> {
        (self.files.stable)()
    }

    /// Returns the edition.
    ///
    /// # Panics
    ///
    /// If a built-in file is broken, which [`Self::check`] reports without a panic.
    #[must_use]
    pub fn edition(&'static self) -> &'static Edition {
        self.try_edition().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the requirements, without reading the schemas.
    ///
    /// # Panics
    ///
    /// If the built-in file is broken, which [`Self::check`] reports without a panic.
    #[must_use]
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
            let Files { name, major, adapter, stable, unstable, newer, .. } = self.files;
            let source = EditionSource { name, major, stable: &stable(), unstable: &unstable(), newer, adapter };
            Edition::load(source, Arc::clone(catalogue)).map_err(|error| BuiltInError {
                file: format!("schemas/acp/{}", self.files.folder),
                message: error.to_string(),
            })
        };
        self.edition.get_or_init(load).as_ref()
    }

    fn try_catalogue(&'static self) -> Result<&'static Arc<Catalogue>, &'static BuiltInError> {
        let load = || {
            let entries = match self.files.lowered {
                Some(lowered) => serde_json::from_str(&(lowered.requirements)()).map_err(|error| error.to_string()),
                None => requirements(&(self.files.catalogue)()),
            };
            let catalogue = entries.and_then(|entries| Catalogue::new(entries).map_err(|error| error.to_string()));
            catalogue.map(Arc::new).map_err(|message| BuiltInError { file: self.catalogue_file(), message })
        };
        self.catalogue.get_or_init(load).as_ref()
    }

    /// Returns the path of the requirements below the root of the repository.
    #[must_use]
    pub fn catalogue_file(&self) -> String {
        format!("cases/requirements/{}.yaml", self.files.folder)
    }

    /// Returns the address of the page that a requirement comes from.
    #[must_use]
    pub fn link(&self, requirement: &Requirement) -> Option<String> {
        requirement.link(self.files.major)
    }

    /// Returns the SHA-256 over the requirements and cases: of the output of `sha256sum` for their files, with their
    /// paths from the root of the repository and in the order of these.
    #[must_use]
    pub fn content_sha256(&self) -> String {
        let catalogue =
            format!("{}  cases/requirements/{}.yaml\n", sha256(&*(self.files.catalogue)()), self.files.folder);
        let cases = self.case_files().into_iter();
        let cases = cases.map(|(path, bytes)| format!("{}  cases/{path}\n", sha256(bytes)));
        sha256(catalogue + &cases.collect::<String>())
    }

    /// Returns the folder of `cases/` that holds the cases, such as `v1`.
    #[must_use]
    pub const fn case_folder(&self) -> &'static str {
        self.files.folder
    }

    /// Returns the case files and includes: the path below `cases/` and the content of each, in the order of the paths.
    #[must_use]
    pub fn case_files(&self) -> Vec<(String, &'static [u8])> {
        below_folder(self.files.folder, self.files.cases)
    }

    /// Returns the heads of the cases as JSON, if the build made them.
    #[must_use]
    pub fn case_heads(&self) -> Option<Cow<'static, str>> {
        Some((self.files.lowered?.heads)())
    }

    /// Returns the id of the case that only connects, to test whether the subject supports the protocol.
    #[must_use]
    pub fn handshake(&self, subject: Party) -> String {
        format!("{}/{subject}/init/handshake", self.files.folder)
    }
}

fn requirements(yaml: &str) -> Result<Vec<Requirement>, String> {
    serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
}

/// Lists the files of a folder with their paths below its parent, in order.
fn below_folder(name: &str, files: Folder) -> Vec<(String, &'static [u8])> {
    files().iter().map(|(path, text)| (format!("{name}/{path}"), text.as_bytes())).collect()
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Bundle").field(&self.name()).finish()
    }
}

/// The editions that a command may use.
#[derive(Clone)]
pub struct Editions(Vec<&'static Bundle>);

/// An edition that this program does not have.
#[derive(Debug, thiserror::Error)]
#[error("this program does not know the edition {name:?}; it knows {known}")]
pub struct UnknownEdition {
    name: String,
    known: String,
}

impl Editions {
    /// Returns the built-in editions.
    #[must_use]
    pub fn built_in() -> Self {
        Self(vec![&V1, &V2])
    }

    /// Adds an edition.
    #[must_use]
    pub fn with(mut self, bundle: &'static Bundle) -> Self {
        self.0.push(bundle);
        self
    }

    /// Returns all editions, the default one first.
    #[must_use]
    pub fn all(&self) -> &[&'static Bundle] {
        &self.0
    }

    /// Returns all editions, that of the newest version first.
    #[must_use]
    pub fn newest_first(&self) -> Vec<&'static Bundle> {
        let mut bundles = self.0.clone();
        bundles.sort_by_key(|bundle| Reverse((bundle.files.major, bundle.name())));
        bundles
    }

    /// Returns the edition of this major version, if there is one.
    #[must_use]
    pub fn of_major(&self, major: u64) -> Option<&'static Bundle> {
        self.0.iter().find(|bundle| u64::from(bundle.files.major) == major).copied()
    }

    /// Returns the default edition.
    #[must_use]
    pub fn preferred(&self) -> &'static Bundle {
        self.0[0]
    }

    /// Makes the edition with this name the preferred one; a protocol version, such as `v2`, means its newest edition.
    ///
    /// # Errors
    ///
    /// The edition is unknown; the error lists the known ones.
    pub fn prefer(&mut self, name: &str) -> Result<(), UnknownEdition> {
        let of_version = |bundle: &&Bundle| bundle.name().split_once('@').is_some_and(|(version, _)| version == name);
        let newest = self.0.iter().copied().filter(|bundle| of_version(bundle)).max_by_key(|bundle| bundle.name());
        let bundle = newest.map_or_else(|| self.named(name), Ok)?;
        self.0.retain(|known| known.name() != bundle.name());
        self.0.insert(0, bundle);
        Ok(())
    }

    /// Returns the edition that a trace was recorded with.
    ///
    /// # Errors
    ///
    /// As for [`Self::named`].
    pub fn of(&self, header: &Header) -> Result<&'static Bundle, UnknownEdition> {
        self.named(&header.edition)
    }

    /// Returns the edition with this name, as in the header of a trace.
    ///
    /// # Errors
    ///
    /// The edition is unknown; the error lists the known ones.
    pub fn named(&self, name: &str) -> Result<&'static Bundle, UnknownEdition> {
        self.0.iter().find(|bundle| bundle.name() == name).copied().ok_or_else(|| UnknownEdition {
            name: name.to_owned(),
            known: self.0.iter().map(|bundle| bundle.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_words_of_a_requirement_with_place_and_help() {
        let yaml = (V1.files.catalogue)();
        for (fact, known) in [("needs: [history", "ends"), ("flags: [capability", "any-version")] {
            let at = yaml.find(fact).expect("a requirement with such a fact") + fact.len();
            let line = yaml[..at].lines().count();
            let error = requirements(&format!("{}x{}", &yaml[..at], &yaml[at..])).expect_err("an unknown word");
            assert!(error.contains(&format!("line {line}")) && error.contains(known), "{error}");
        }
    }

    #[test]
    fn vendored_schemas_are_the_published_bytes() {
        let origins =
            [include_str!("../../schemas/acp/v1/ORIGIN.toml"), include_str!("../../schemas/acp/v2/ORIGIN.toml")];
        for (bundle, origin) in [&V1, &V2].into_iter().zip(origins) {
            let origin: toml::Table = toml::from_str(origin).expect("ORIGIN.toml parses");
            let Files { name, stable, unstable, .. } = bundle.files;
            for (file, text) in [("schema.json", stable), ("schema.unstable.json", unstable)] {
                let expected = origin["sha256"][file].as_str();
                assert_eq!(expected, Some(sha256(&*text()).as_str()), "{file} of {name} was changed");
            }
            assert!(name.ends_with(origin["revision"].as_str().expect("a revision")));
        }
    }

    #[test]
    fn newest_schemas_are_the_vendored_bytes() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/acp/newest");
        let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a vendored file");
        let origin: toml::Table = toml::from_str(&read("ORIGIN.toml")).expect("ORIGIN.toml parses");
        assert_eq!(origin["version"].as_str(), Some(NEWEST_REVISION));
        let hashes = origin["sha256"].as_table().expect("hashes");
        assert_eq!(hashes.len(), 4);
        for (file, expected) in hashes {
            assert_eq!(expected.as_str(), Some(sha256(read(file)).as_str()), "{file} was changed");
        }
    }

    #[test]
    fn newest_schemas_can_be_read() {
        for (bundle, member) in [(&V1, "systemPrompt"), (&V2, "idempotencyKey")] {
            let newer = bundle.edition().newer.as_ref().expect("a newer schema");
            assert!(newer.has_member(member) && newer.knows(Party::Client, "session/prompt"), "{}", bundle.name());
        }
        let update =
            serde_json::json!({ "sessionId": "s", "update": { "sessionUpdate": "subagent_update", "sessionId": "c" } });
        let newer = V1.edition().newer.as_ref().expect("a newer schema");
        assert!(newer.defined("SessionNotification", &update).contains("/update/sessionId"));
    }

    #[test]
    fn packed_texts_are_those_of_the_files() {
        let files =
            [include_str!("../../cases/requirements/v1.yaml"), include_str!("../../cases/requirements/v2.yaml")];
        for (bundle, text) in [&V1, &V2].into_iter().zip(files) {
            assert_eq!((bundle.files.catalogue)(), text, "{}", bundle.name());
        }
    }

    #[test]
    fn lowered_requirements_are_those_of_the_yaml() {
        for bundle in [&V1, &V2] {
            let written = requirements(&(bundle.files.catalogue)()).expect("the YAML is a list of requirements");
            assert!(bundle.catalogue().iter().eq(&written), "{}", bundle.name());
        }
    }

    #[test]
    fn a_version_means_its_newest_edition() {
        let mut editions = Editions::built_in();
        editions.prefer("v2").expect("version 2 is built in");
        assert_eq!(editions.preferred().name(), "v2@2026-11");
    }

    #[test]
    fn refuses_unknown_editions() {
        let error = Editions::built_in().named("v9@2040-01").expect_err("no such edition").to_string();
        assert_eq!(error, "this program does not know the edition \"v9@2040-01\"; it knows v1@2026-11, v2@2026-11");
    }
}
