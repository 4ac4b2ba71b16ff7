//! Child processes that lead a process group, so that a whole group ends with its leader.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A child whose process group is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    /// The leader.
    pub child: Child,
    id: Option<Pid>,
}

impl Group {
    /// Starts a command as the leader of a new group.
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, id })
    }

    /// Kills the rest of the group.
    pub(crate) fn kill(&self) {
        if let Some(id) = self.id {
            // An error means that the group has already gone.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
