//! Makes a trace fit for the public: what people and programs said goes, and its shape stays.
//!
//! [`redact`] replaces the letters and digits of texts by others, one for one, inside the bytes of each line as they
//! stand: white space, escapes, the order of members, doubled keys and broken lines stay as they are, so that the judge
//! finds in the redacted trace what it finds in the other. Ids, words of the protocol, numbers and times stay.
//! `docs/redaction.md` says what can still be seen.
//!
//! Equal texts become equal texts within one trace, and what stands inside another text becomes the same there. The key
//! decides what they become, and nobody has it afterwards.

mod cipher;
mod events;
mod line;
mod literal;
mod place;
mod speech;
mod step;
mod words;

pub use cipher::RedactionKey;
pub use events::{Redacted, redact};
