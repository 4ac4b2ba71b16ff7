//! What `cargo fuzz` runs: the targets, and changes to their inputs that it does not think of by itself.

pub mod mutation;
pub mod targets;

/// What a program of `fuzz_targets/` consists of.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_conformance_fuzz::targets::$name::holds(data));
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
            match acp_conformance_fuzz::mutation::mutated(&data[..size], most, seed) {
                Some(new) => {
                    data[..new.len()].copy_from_slice(&new);
                    new.len()
                }
                None => libfuzzer_sys::fuzzer_mutate(data, size, most),
            }
        });
    };
}
