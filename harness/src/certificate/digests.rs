//! `SHA256SUMS`: the digest of each file, as `sha256sum` writes and checks it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the text of the file for these digests, by the names of their files.
pub(super) fn text(digests: &BTreeMap<String, String>) -> String {
    digests.iter().fold(String::new(), |mut text, (name, digest)| {
        let _ = writeln!(text, "{digest}  {name}");
        text
    })
}

/// Reads the digests. A list has only one valid text, so that every changed byte of it shows.
///
/// # Errors
///
/// A line is not a digest and a name, or the lines are in another order.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let whole = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut digests = BTreeMap::new();
    for (at, line) in whole.lines().enumerate() {
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let parts = line.split_once("  ");
        let Some((digest, name)) = parts.filter(|(digest, _)| digest.len() == 64 && digest.chars().all(is_hex)) else {
            return Err(format!("line {} is not a SHA-256 with a name", at + 1));
        };
        digests.insert(name.to_owned(), digest.to_owned());
    }
    if text(&digests) == whole { Ok(digests) } else { Err("its lines are not in the order of the names".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_list_counts() {
        let name = |name: &str| (name.to_owned(), crate::protocol::sha256(name));
        let digests = BTreeMap::from([name("report.json"), name("traces/a.jsonl")]);
        let text = text(&digests).into_bytes();
        assert_eq!(read(&text).as_ref(), Ok(&digests));
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert_ne!(read(&flipped).as_ref(), Ok(&digests), "bit {bit} of byte {at}");
            }
        }
        for other in [&text[1..], &[&text[..], b"\n"].concat(), &text[..text.len() - 1]] {
            assert!(read(other).is_err(), "{}", String::from_utf8_lossy(other));
        }
    }
}
