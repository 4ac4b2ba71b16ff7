//! Profiles: a file is a profile or has a mistake, and every mistake can be drawn.

use acp_conformance::edition::V1;
use acp_conformance::profile::load_bytes;

use super::drawn;

/// The bytes are a profile.
pub fn holds(data: &[u8]) {
    let (profile, problems) = load_bytes("profiles/x.toml", data, V1.catalogue());
    drawn(profile.is_some(), &problems);
    assert_eq!(load_bytes("profiles/x.toml", data, V1.catalogue()).1, problems);
}
