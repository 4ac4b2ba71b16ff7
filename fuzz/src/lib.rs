//! The targets of `cargo fuzz`, and mutations that its fuzzer does not produce by itself.

pub mod mutation;
pub mod targets;

/// The content of a program in `fuzz_targets/`.
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
