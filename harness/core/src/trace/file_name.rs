//! The names of trace files.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The longest name of a file, in bytes, without its ending and a digest. Most file systems allow 255.
const LONGEST_NAME: usize = 180;

/// Returns the file name for the trace of a case, in a folder of many. A long name ends in a digest.
pub fn file_name(case: &str) -> String {
    let mut name = case.replace('/', "-");
    if name.len() > LONGEST_NAME {
        let mut rest = DefaultHasher::new();
        name.hash(&mut rest);
        let end = (0..=LONGEST_NAME).rev().find(|&at| name.is_char_boundary(at));
        name.truncate(end.unwrap_or_default());
        name = format!("{name}-{:016x}", rest.finish());
    }
    format!("{name}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn long_names_stay_different_and_fit() {
        assert_eq!(file_name("v1/agent/fs/read"), "v1-agent-fs-read.jsonl");
        let [one, other] = ["a", "b"].map(|end| file_name(&format!("v1/agent/walk/{}ü{end}", "x".repeat(400))));
        assert!(one != other && one.len() < 255, "{one}");
        assert_eq!(one, file_name(&format!("v1/agent/walk/{}üa", "x".repeat(400))));
    }
}
