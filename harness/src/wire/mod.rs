//! From bytes to lines, and from lines to JSON-RPC messages. Nothing is refused and nothing is lost here.

mod frame;
mod message;

pub use frame::{Frame, Framer, LONGEST_LINE, LineEnd};
pub use message::{Call, Content, Envelope, RpcId, read_line};
