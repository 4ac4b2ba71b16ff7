//! Ids, which the parties choose freely: their spelling, and words in them that mean something.

/// Words in the id of a value that may stand for another value.
const ALIASES: [&str; 5] = ["default", "auto", "inherit", "latest", "recommended"];

/// Returns the word in the id of a value that makes it an alias of another value.
pub(crate) fn alias_in(id: &str) -> Option<&'static str> {
    let id = id.to_lowercase();
    ALIASES.into_iter().find(|word| id.contains(word))
}

/// Whether an id is a known one in another spelling, as programs produce it that change ids: in another case, encoded
/// or decoded as part of a URL, or with other characters than ASCII letters and digits left out or replaced by a usual
/// one. Ids that share nothing but their letters and digits are different ids.
pub(crate) fn is_respelt(known: &str, id: &str) -> bool {
    let [known_forms, forms] = [known, id].map(|id| [pieces(id.as_bytes()), pieces(&url_decoded(id))]);
    let is_form = |known: &[Piece], form: &[Piece]| {
        form.len() == known.len() && form.len() > 1 && form.iter().zip(known).all(|(piece, known)| piece.is_of(known))
    };
    known != id && known_forms.iter().any(|known| forms.iter().any(|form| is_form(known, form)))
}

/// An ASCII letter or digit of an id, in lower case, and the other bytes before it; at the end there is none.
struct Piece {
    before: Vec<u8>,
    letter: Option<u8>,
}

impl Piece {
    /// Whether it is a piece of a known id in another spelling.
    fn is_of(&self, known: &Self) -> bool {
        let may_be = |byte: &u8| {
            // A letter that is not ASCII has other bytes in another case.
            b"-_+ ?".contains(byte)
                || known.before.iter().any(|known| known == byte || !known.is_ascii() && !byte.is_ascii())
        };
        self.letter == known.letter && self.before.iter().all(may_be)
    }
}

fn pieces(id: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut before = Vec::new();
    for byte in id {
        match byte.is_ascii_alphanumeric() {
            true => {
                pieces.push(Piece { before: std::mem::take(&mut before), letter: Some(byte.to_ascii_lowercase()) });
            }
            false => before.push(*byte),
        }
    }
    pieces.push(Piece { before, letter: None });
    pieces
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
        for other in ["Sess /Aé%41", "Sess /Bé%41", "Sess /Aé", "", "%", "sess.Aé%41", "Sess /A/41"] {
            assert!(!is_respelt("Sess /Aé%41", other), "{other}");
        }
        for other in ["sess-a-41", "sess_a_41", "sessa41"] {
            assert!(is_respelt("Sess /Aé%41", other), "{other}");
        }
        assert!(!is_respelt("é", "è"));
        assert!(!is_respelt("Old/1 ä.3", "old.13"));
    }
}
