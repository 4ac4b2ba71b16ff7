//! Reads the installed version of a subject from the command that its profile names for that.

use tokio::runtime::Builder;
use tokio::time::Instant;

use super::environment::Sandbox;
use super::timing::INSTALLED_VERSION;
use crate::transport::process::{Launch, Process, drain, reap_marked};

/// Returns the version that the command prints: the first word that begins with a digit, or with a `v` and a digit.
/// `None` if the command cannot be started, prints no version, or does not end its output in time.
pub fn installed_version(command: &[String]) -> Option<String> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let printed = runtime.block_on(output(command));
    runtime.shutdown_background();
    version_in(&String::from_utf8_lossy(&printed?))
}

/// Runs the command with a HOME of its own and returns its output.
async fn output(command: &[String]) -> Option<Vec<u8>> {
    let sandbox = Sandbox::make().ok()?;
    let (program, args) = command.split_first()?;
    let launch = Launch {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: sandbox.home().to_owned(),
        environment: sandbox.environment(),
    };
    let deadline = Instant::now() + INSTALLED_VERSION;
    let Process { stdin, mut stdout, mut stderr, leader: _leader, group } = launch.spawn().ok()?;
    drop(stdin);
    let mut printed = Vec::new();
    let (end, _) =
        tokio::join!(drain(&mut stdout, deadline, |bytes| printed.extend(bytes)), drain(&mut stderr, deadline, |_| {}));
    drop(group);
    reap_marked(&sandbox.marker());
    end.ok().map(|_| printed)
}

fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(is_version).map(|word| word.trim_start_matches('v').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(script: &str) -> Option<String> {
        installed_version(&["sh", "-c", script].map(str::to_owned))
    }

    #[test]
    fn finds_the_version_in_the_output() {
        assert_eq!(printed("echo 'my-agent v1.2.3-rc.1 (abc)'").as_deref(), Some("1.2.3-rc.1"));
        assert_eq!(printed("echo 0.19.1; echo 5").as_deref(), Some("0.19.1"));
        assert_eq!(printed("echo unknown; echo 1.0 >&2"), None);
        assert_eq!(installed_version(&["/there/is/no/such/program".to_owned()]), None);
    }
}
