//! The edition that unit tests use. The package itself embeds no files.

use std::sync::{Arc, LazyLock};

use crate::protocol::{Edition, EditionSource, V1, V2};
use crate::requirement::{Catalogue, CatalogueRevision, Requirement};

/// The published schema of protocol version 1.
pub(crate) const V1_STABLE: &str = include_str!("../../../schemas/acp/2026-11-20/v1/schema.json");
/// The schema of its drafts.
pub(crate) const V1_UNSTABLE: &str = include_str!("../../../schemas/acp/2026-11-20/v1/schema.unstable.json");

/// Protocol version 1.
pub(crate) fn v1() -> &'static Edition {
    static EDITION: LazyLock<Edition> = LazyLock::new(|| {
        let source = EditionSource {
            name: "v1@2026-11-20",
            major: 1,
            stable: V1_STABLE,
            unstable: V1_UNSTABLE,
            other_revision: None,
            adapter: &V1,
        };
        load(
            source,
            include_str!("../../../cases/requirements/v1.yaml"),
            include_str!("../../../cases/requirements/v1@2026-11-20.yaml"),
        )
    });
    &EDITION
}

/// Protocol version 2.
pub(crate) fn v2() -> &'static Edition {
    static EDITION: LazyLock<Edition> = LazyLock::new(|| {
        let source = EditionSource {
            name: "v2@2026-11-20",
            major: 2,
            stable: include_str!("../../../schemas/acp/2026-11-20/v2/schema.json"),
            unstable: include_str!("../../../schemas/acp/2026-11-20/v2/schema.unstable.json"),
            other_revision: None,
            adapter: &V2,
        };
        load(
            source,
            include_str!("../../../cases/requirements/v2.yaml"),
            include_str!("../../../cases/requirements/v2@2026-11-20.yaml"),
        )
    });
    &EDITION
}

/// Loads an edition with the catalogue of the edition before it and its revision.
fn load(source: EditionSource<'_>, base: &str, revision: &str) -> Edition {
    let mut entries: Vec<Requirement> = serde_saphyr::from_str(base).expect("a catalogue");
    let drafts = include_str!("../../../cases/requirements/drafts.yaml");
    entries.extend(serde_saphyr::from_str::<Vec<Requirement>>(drafts).expect("a catalogue"));
    let base = Catalogue::new(entries).expect("no id twice");
    let revision: CatalogueRevision = serde_saphyr::from_str(revision).expect("a revision");
    Edition::load(source, Arc::new(revision.apply(&base).expect("it fits"))).expect("a sound schema")
}
