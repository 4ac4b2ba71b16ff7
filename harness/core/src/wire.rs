//! From bytes to lines, and from lines to JSON-RPC messages. All input is accepted and none is lost.

mod frame;
mod members;
mod message;
mod readable;

pub use frame::{Frame, Framer, LONGEST_LINE, LineEnd};
pub use members::Members;
pub use message::{Call, Content, Envelope, MOST_MESSAGES, RpcId, read_line};
pub use readable::{escape_surrogates, push_text, stand_in, write_json};
