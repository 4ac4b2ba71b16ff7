//! The observations of a run: an append-only list of events, and its file format.

mod case;
mod event;
mod file_name;
mod http;
mod jsonl;
mod model;
mod parts;
mod step;

pub use case::{CaseInfo, CaseMark};
pub use event::{
    AgentStart, Aside, CALL_MCP_TOOL, Event, FENCE, INVENTED, McpEvent, McpTransport, McpWhat, ProcessEvent, SCRATCH,
    Visit, What,
};
pub use file_name::file_name;
pub use http::{CONNECTION_ID, HttpEvent, Posted, SESSION_ID, recorded_headers};
pub use jsonl::{FORMAT, Header, Lack, ReadError, Trace, TraceReader, TraceWriter, file_schema};
pub use model::{
    Digest, INTENT_MARKER, MARK, MOST_ENTRIES, ModelCall, ModelEvent, ModelMedia, ModelOutput, ModelRequest,
    ModelResult, ModelText, OTHERS, Precedence, intents_in,
};
pub use step::{
    Difference, Excerpt, Exit, Expected, ExpectedAnswer, ExpectedMessage, ExpectedText, Observed, Outcome, StepEvent,
    StepKind, SubjectEnd,
};
