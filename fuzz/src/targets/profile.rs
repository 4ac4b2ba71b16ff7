//! Profiles: a file is a profile or has a mistake, and every mistake can be rendered.

use acp_conformance::edition::V1;
use acp_conformance::profile::load_bytes;

use super::drawn;

/// Treats the bytes as a profile.
pub fn holds(data: &[u8]) {
    let (profile, problems) = load_bytes("profiles/x.toml", data, V1.catalogue());
    drawn(profile.is_some(), &problems);
    assert_eq!(load_bytes("profiles/x.toml", data, V1.catalogue()).1, problems);
}
