//! The observations of a run: an append-only list of events, and its file format.

mod case;
mod event;
mod file_name;
mod jsonl;
mod parts;
mod step;

pub use case::{CaseInfo, CaseMark};
pub use event::{
    AgentStart, Aside, CALL_MCP_TOOL, Event, FENCE, INVENTED, MARK, McpEvent, McpTransport, McpWhat, ModelEvent,
    OTHERS, Precedence, ProcessEvent, SCRATCH, Visit, What,
};
pub use file_name::file_name;
pub use jsonl::{FORMAT, Header, Lack, ReadError, Trace, TraceReader, TraceWriter, file_schema};
pub use step::{
    Excerpt, Exit, Expected, ExpectedAnswer, ExpectedMessage, ExpectedText, Observed, Outcome, StepEvent, StepKind,
    SubjectEnd,
};
