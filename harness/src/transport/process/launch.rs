//! Starting a program: the command, its environment, and the reasons for a failure.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pty_process::Pty;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::transport::process::children;
use crate::transport::process::group::{self, Leader, ProcessGroup};
use crate::transport::unix as platform;

/// The changes to the environment that a child inherits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    changes: Vec<(OsString, Option<OsString>)>,
}

impl Environment {
    /// Sets `name` to `value`, also if it is inherited.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.changes.push((name.into(), Some(value.into())));
        self
    }

    /// Removes `name` from the inherited variables.
    pub fn without(mut self, name: impl Into<OsString>) -> Self {
        self.changes.push((name.into(), None));
        self
    }

    fn apply(&self, command: &mut Command) {
        for (name, value) in &self.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

/// A program to start in a process group of its own.
///
/// A `program` without a slash is searched on the child's PATH; a relative one starts at `cwd`.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Name or path of the program.
    pub program: OsString,
    /// Arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Changes to the inherited environment, applied in order.
    pub environment: Environment,
}

/// A running child with its three streams.
#[derive(Debug)]
pub struct Process {
    /// Writes to the child's standard input; dropping it closes the input.
    pub stdin: ChildStdin,
    /// Reads the child's standard output.
    pub stdout: ChildStdout,
    /// Reads the child's standard error.
    pub stderr: ChildStderr,
    /// Waits for the child itself.
    pub leader: Leader,
    /// Signals the child with all of its group, and kills the group when dropped.
    pub group: ProcessGroup,
}

/// A running child without input, whose two output streams share a pipe and so keep the order of writing.
#[derive(Debug)]
pub struct MergedProcess {
    /// Reads standard output and standard error.
    pub output: ChildStdout,
    /// Waits for the child itself.
    pub leader: Leader,
    /// Signals the child with all of its group, and kills the group when dropped.
    pub group: ProcessGroup,
}

/// A running child on a terminal of its own.
pub struct TerminalProcess {
    /// Reads the output of the child, and writes its input.
    pub terminal: Pty,
    /// Waits for the child itself.
    pub leader: Leader,
    /// Signals the child with all of its group, and kills the group when dropped.
    pub group: ProcessGroup,
}

/// Rows and columns of the terminals of programs.
const TERMINAL_SIZE: (u16, u16) = (24, 80);

impl Launch {
    /// Starts the program with all three streams piped; needs a Tokio runtime.
    ///
    /// # Errors
    /// See [`SpawnError`].
    ///
    /// # Examples
    /// ```no_run
    /// # use acp_conformance::transport::process::{Environment, Launch};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let launch = Launch {
    ///     program: "my-agent".into(),
    ///     args: vec!["--acp".into()],
    ///     cwd: "/srv/workspace".into(),
    ///     environment: Environment::default().with("HOME", "/srv/home").without("API_KEY"),
    /// };
    /// let mut process = launch.spawn()?;
    /// let exit = process.leader.wait().await?;
    /// # Ok(()) }
    /// ```
    pub fn spawn(&self) -> Result<Process, SpawnError> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut leader, group) = self.start(&mut command)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = leader.take_streams() else {
            return Err(self.error(io::Error::other("a piped stream is missing")));
        };
        Ok(Process { stdin, stdout, stderr, leader, group })
    }

    /// Starts the program without input and with both outputs on one pipe; needs a Tokio runtime.
    ///
    /// # Errors
    /// See [`SpawnError`].
    pub fn spawn_merged(&self) -> Result<MergedProcess, SpawnError> {
        let mut command = self.command();
        let output = platform::merge_output(&mut command).map_err(|error| self.error(error))?;
        command.stdin(Stdio::null());
        let (leader, group) = self.start(&mut command)?;
        // Dropping `command` on return closes our copies of the pipe's writing end; otherwise the pipe would never end.
        Ok(MergedProcess { output, leader, group })
    }

    /// Starts the program on a terminal of its own, as the leader of a session; needs a Tokio runtime.
    ///
    /// # Errors
    /// See [`SpawnError`].
    pub fn spawn_on_terminal(&self) -> Result<TerminalProcess, SpawnError> {
        self.check_cwd()?;
        let failed = |error: pty_process::Error| match error {
            pty_process::Error::Io(error) => self.error(error),
            other => self.error(io::Error::other(other)),
        };
        let (terminal, screen) = pty_process::open().map_err(failed)?;
        terminal.resize(pty_process::Size::new(TERMINAL_SIZE.0, TERMINAL_SIZE.1)).map_err(failed)?;
        let command = pty_process::Command::from(self.command());
        let (child, id) = children::start(|| command.spawn(screen)).map_err(failed)?;
        let (leader, group) = group::adopt(child, id);
        Ok(TerminalProcess { terminal, leader, group })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).kill_on_drop(true);
        self.environment.apply(&mut command);
        command
    }

    fn start(&self, command: &mut Command) -> Result<(Leader, ProcessGroup), SpawnError> {
        self.check_cwd()?;
        platform::lead_group(command);
        let (child, id) = children::start(|| command.spawn()).map_err(|error| self.error(error))?;
        Ok(group::adopt(child, id))
    }

    fn check_cwd(&self) -> Result<(), SpawnError> {
        if self.cwd.is_dir() { Ok(()) } else { Err(SpawnError::CwdMissing { cwd: self.cwd.clone() }) }
    }

    pub(in crate::transport) fn error(&self, source: io::Error) -> SpawnError {
        let program = Path::new(&self.program);
        let searched = !self.program.as_encoded_bytes().contains(&b'/');
        if platform::is_wrong_format(&source) {
            let start = if searched { None } else { std::fs::read(self.cwd.join(program)).ok() };
            let what = start.as_deref().map_or(FileContents::Unknown, FileContents::of);
            return SpawnError::WrongFormat { path: program.to_owned(), what };
        }
        match source.kind() {
            io::ErrorKind::NotFound if searched => {
                SpawnError::NotOnPath { name: self.program.to_string_lossy().into_owned() }
            }
            // "Not found" also means an existing script whose interpreter is missing.
            io::ErrorKind::NotFound if !self.cwd.join(program).exists() => {
                SpawnError::NoSuchFile { path: program.to_owned() }
            }
            io::ErrorKind::PermissionDenied if !searched && self.cwd.join(program).is_dir() => {
                SpawnError::IsFolder { path: program.to_owned() }
            }
            io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { path: program.to_owned() },
            _ => SpawnError::Other { program: program.to_owned(), source },
        }
    }
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The name is not on PATH.
    #[error("no program `{name}` on PATH{}", one_word(name))]
    NotOnPath {
        /// The name as given.
        name: String,
    },
    /// The program was given as a path, and that file does not exist.
    #[error("no such program `{}`{}", path.display(), one_word(&path.to_string_lossy()))]
    NoSuchFile {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is a folder.
    #[error("`{}` is a folder", path.display())]
    IsFolder {
        /// The path as given.
        path: PathBuf,
    },
    /// The file exists but may not be executed.
    #[error("`{}` is not executable; chmod +x it, or put its interpreter before it, such as node", path.display())]
    NotExecutable {
        /// The program as given.
        path: PathBuf,
    },
    /// The system cannot execute the contents of the file.
    #[error("`{}` {what}", path.display())]
    WrongFormat {
        /// The program as given.
        path: PathBuf,
        /// What it contains.
        what: FileContents,
    },
    /// The working directory does not exist or is not a directory.
    #[error("working directory `{}` {}", cwd.display(), if cwd.exists() { "is not a directory" } else { "does not exist" })]
    CwdMissing {
        /// The directory as given.
        cwd: PathBuf,
    },
    /// The system refused for another reason.
    #[error("cannot start `{}`: {source}", program.display())]
    Other {
        /// The program as given.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The contents of a file that the system cannot execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileContents {
    /// It has none.
    Empty,
    /// A program for another machine or system.
    ForeignProgram,
    /// A text.
    Script,
    /// The file cannot be read, or only PATH leads to it.
    Unknown,
}

impl FileContents {
    /// The first bytes of programs: of Linux, Windows and macOS, there also of those for several machines.
    const PROGRAMS: [&[u8]; 5] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];

    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Empty,
            _ if Self::PROGRAMS.iter().any(|start| bytes.starts_with(start)) => Self::ForeignProgram,
            _ => Self::Script,
        }
    }
}

impl fmt::Display for FileContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::ForeignProgram => "is a program for another kind of processor or system",
            Self::Script => {
                "is a script without a #! line; add one, such as #!/usr/bin/env node, or put its interpreter before it"
            }
            Self::Unknown => "is neither a program for this machine nor a script with a #! line",
        })
    }
}

impl SpawnError {
    /// Whether the program does not exist.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::NotOnPath { .. } | Self::NoSuchFile { .. })
    }
}

/// Returns a hint for a missing program whose name looks like a whole command line in quotes.
fn one_word(program: &str) -> &'static str {
    if program.contains(char::is_whitespace) {
        "; it is one word: leave out the quotes around the command line"
    } else {
        ""
    }
}
