//! The edition that unit tests use. The package itself embeds no files.

use std::sync::{Arc, LazyLock};

use crate::protocol::{Edition, EditionSource, V1};
use crate::requirement::{Catalogue, CatalogueRevision};

/// The published schema of protocol version 1.
pub(crate) const V1_STABLE: &str = include_str!("../../../schemas/acp/2026-11-20/v1/schema.json");
/// The schema of its drafts.
pub(crate) const V1_UNSTABLE: &str = include_str!("../../../schemas/acp/2026-11-20/v1/schema.unstable.json");

/// Protocol version 1.
pub(crate) fn v1() -> &'static Edition {
    static EDITION: LazyLock<Edition> = LazyLock::new(|| {
        let entries = serde_saphyr::from_str(include_str!("../../../cases/requirements/v1.yaml")).expect("a catalogue");
        let revision: CatalogueRevision =
            serde_saphyr::from_str(include_str!("../../../cases/requirements/v1@2026-11-20.yaml")).expect("a revision");
        let catalogue = revision.apply(&Catalogue::new(entries).expect("no id twice")).expect("it fits");
        let source = EditionSource {
            name: "v1@2026-11-20",
            major: 1,
            stable: V1_STABLE,
            unstable: V1_UNSTABLE,
            other_revision: None,
            adapter: &V1,
        };
        Edition::load(source, Arc::new(catalogue)).expect("a sound schema")
    });
    &EDITION
}
