//! The observations of a run: an append-only list of events, its file format, and a stable text form.

mod case;
mod event;
mod file_name;
mod format_1;
mod jsonl;
mod normal;
mod parts;
mod renamer;
mod reuse;
mod step;

pub use case::{CaseInfo, CaseMark};
pub use event::{
    AgentStart, Aside, CALL_MCP_TOOL, Event, FENCE, INVENTED, McpEvent, McpTransport, McpWhat, ModelEvent, OTHERS,
    ProcessEvent, SCRATCH, Visit, What,
};
pub use file_name::file_name;
pub use jsonl::{FORMAT, Header, Lack, ReadError, Trace, TraceReader, TraceWriter, file_schema};
pub use normal::normalised;
pub use renamer::Renamer;
pub use reuse::Reuse;
pub use step::{
    Excerpt, Exit, Expected, ExpectedAnswer, ExpectedMessage, ExpectedText, Observed, Outcome, StepEvent, StepKind,
    SubjectEnd,
};
