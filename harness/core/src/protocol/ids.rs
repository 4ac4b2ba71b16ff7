//! Ids, which the parties choose freely: their spelling, and words in them that mean something.

/// Words in the id of a value that may stand for another value.
const ALIASES: [&str; 5] = ["default", "auto", "inherit", "latest", "recommended"];

/// Returns the word in the id of a value that makes it an alias of another value.
pub(crate) fn alias_in(id: &str) -> Option<&'static str> {
    let id = id.to_lowercase();
    ALIASES.into_iter().find(|word| id.contains(word))
}

/// Whether one id is the other in another spelling, as programs produce it that change ids: in another case, encoded or
/// decoded as part of a URL, or with only its ASCII letters and digits.
pub(crate) fn is_respelt(one: &str, other: &str) -> bool {
    let bare = |bytes: &[u8]| -> String {
        bytes
            .iter()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect()
    };
    let forms = |id: &str| [bare(id.as_bytes()), bare(&url_decoded(id))];
    let others = forms(other);
    one != other && forms(one).iter().any(|form| !form.is_empty() && others.contains(form))
}

fn url_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|digits| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_respelt_ids() {
        for other in ["sess%20%2FA%C3%A9%2541", "SESS /AÉ%41", "sess+/a%41", " Sess /Aé%41 ", "Sess /AéA"] {
            assert!(is_respelt("Sess /Aé%41", other), "{other}");
        }
        for other in ["Sess /Aé%41", "Sess /Bé%41", "Sess /Aé", "", "%"] {
            assert!(!is_respelt("Sess /Aé%41", other), "{other}");
        }
        assert!(!is_respelt("é", "è"));
    }
}
