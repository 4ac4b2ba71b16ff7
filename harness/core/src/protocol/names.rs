//! Maps that are indexed by names of the protocol.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are names from a schema or from this program. A lookup costs a third of that with the standard
/// hash. Only the standard hash resists hostile keys, so names that a subject chooses need it.
pub(crate) type NameMap<K, V> = HashMap<K, V, BuildHasherDefault<NameHasher>>;

/// Multiplies and rotates eight bytes at a time, as the hash of the Rust compiler does.
#[derive(Default)]
pub(crate) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = match chunk.try_into() {
                Ok(word) => u64::from_le_bytes(word),
                Err(_) => chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        // The map uses the low bits for the place, and the product mixes the high ones.
        self.0.rotate_left(26)
    }
}
