//! Exits of a subject that nothing in its case asked for, such as a crash.

use crate::trace::{Event, Exit, ProcessEvent, What};

/// An exit that nothing asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnaskedExit {
    /// The first event that shows it: the end of the output, or else the exit.
    pub since: usize,
    /// How the process exited.
    pub exit: Exit,
}

/// Returns the first exit in these events that came before its input was closed or anything stopped it.
pub(super) fn unasked_exit(events: &[Event]) -> Option<UnaskedExit> {
    let (mut is_asked, mut since) = (false, None);
    for event in events {
        let What::Process(process) = &event.what else { continue };
        match process {
            ProcessEvent::Spawned { .. } => (is_asked, since) = (false, None),
            ProcessEvent::StdinClosed
            | ProcessEvent::Signalled(_)
            | ProcessEvent::Flooded
            | ProcessEvent::AgentExited(_)
            | ProcessEvent::AgentKilled => is_asked = true,
            ProcessEvent::StdoutEnded => since = since.or(Some(event.n)),
            ProcessEvent::Exited { code, signal } if !is_asked => {
                let by_signal = signal.clone().map(Exit::Signal);
                let exit = by_signal.or(code.map(Exit::Code))?;
                return Some(UnaskedExit { since: since.unwrap_or(event.n), exit });
            }
            _ => {}
        }
    }
    None
}
