//! A proxy process between a client and its agent that neither can notice.
//!
//! The process that the client started *becomes* the agent: it keeps its id, group and standard error, and signals and
//! exit codes need no forwarding. Before that, it starts this program again, as a proxy that gets the client's ends of
//! the streams. The proxy is not a child of the agent and has its own group. So a client that kills its agent, or its
//! whole group, ends everything but the proxy; the proxy ends with the streams.
//!
//! With [`start_agent`], the process that the client started stays the proxy instead. Then its exit comes after
//! everything that the proxy does, and signals and the exit code have to be forwarded.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, IsTerminal, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use super::process::{Launch, SpawnError};

/// The first argument of a program that only starts itself again, with the other arguments.
const WORD: &str = "--acp-conformance-detach";

/// The number of files that are handed over.
const HANDED: usize = 5;

/// The files of the process that becomes the agent: its streams, and a line to the proxy.
#[derive(Debug)]
pub struct Ends {
    stdin: io::PipeReader,
    stdout: io::PipeWriter,
    /// It closes when this process becomes the agent.
    line: UnixStream,
}

impl Ends {
    /// Waits for the end of the proxy, in a process that is the agent only in name. If a client kills it, the proxy
    /// finds the end of its output. Returns the byte that the proxy wrote to the agent: its exit code.
    pub fn wait(mut self) -> Option<u8> {
        let mut code = [0];
        self.stdin.read_exact(&mut code).ok().map(|()| code[0])
    }
}

/// The streams of the proxy.
#[derive(Debug)]
pub struct Between {
    /// Reads from the client.
    pub from_client: File,
    /// Writes to the client.
    pub to_client: File,
    /// Reads from the agent.
    pub from_agent: File,
    /// Writes to the agent.
    pub to_agent: File,
    /// The file that came with the streams.
    pub record: File,
    /// The process id of the agent.
    pub pid: u32,
    /// Reports whether the agent was started.
    pub start: Start,
}

/// Reports the agent's start.
#[derive(Debug)]
pub struct Start(UnixStream);

impl Start {
    /// Reads the report from this socket.
    #[cfg(test)]
    pub(crate) const fn over(line: UnixStream) -> Self {
        Self(line)
    }

    /// Confirms that the proxy is ready. Without this, the agent starts without a proxy.
    ///
    /// # Errors
    ///
    /// The other process has gone.
    pub fn confirm(&self) -> io::Result<()> {
        { &self.0 }.write_all(&[1])
    }

    /// Waits until the agent was started or failed to start; returns the reason for a failure.
    pub fn failure(mut self) -> Option<String> {
        let mut why = String::new();
        let _ = self.0.read_to_string(&mut why);
        Some(why).filter(|why| !why.is_empty())
    }
}

/// Starts this program again with these arguments, to call [`take_over`]. It gets the standard input and output of this
/// process, the other ends of the returned streams, and `record`.
pub fn stand_between(args: impl IntoIterator<Item = impl AsRef<OsStr>>, record: &File) -> io::Result<Ends> {
    let (stdin, to_agent) = io::pipe()?;
    let (from_agent, stdout) = io::pipe()?;
    let (mut line, other_end) = UnixStream::pair()?;
    let mut starter = Command::new(std::env::current_exe()?);
    starter.arg(WORD).args(args).stdin(OwnedFd::from(other_end)).stdout(Stdio::null());
    // A terminal stops a process that reads from it outside the foreground group.
    if !io::stdin().is_terminal() {
        starter.process_group(0);
    }
    let started = starter.status()?;
    // It holds the other end of the socket, which must close with its user.
    drop(starter);
    if !started.success() {
        return Err(io::Error::other(format!("it could not be started: {started}")));
    }
    let (client_in, client_out) = (io::stdin(), io::stdout());
    let files = [client_in.as_fd(), client_out.as_fd(), from_agent.as_fd(), to_agent.as_fd(), record.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut handed = SendAncillaryBuffer::new(&mut space);
    handed.push(SendAncillaryMessage::ScmRights(&files));
    let pid = std::process::id().to_le_bytes();
    sendmsg(&line, &[IoSlice::new(&pid)], &mut handed, SendFlags::empty())?;
    let mut confirmed = [0];
    line.read_exact(&mut confirmed).map_err(|_| io::Error::other("it ended"))?;
    Ok(Ends { stdin, stdout, line })
}

/// Becomes the agent; without ends, on the streams of this process. Returns only if that failed, with the reason.
pub fn become_agent(command: &[OsString], ends: Option<Ends>) -> SpawnError {
    let mut agent = agent(command);
    let line = ends.map(|Ends { stdin, stdout, line }| {
        agent.stdin(stdin).stdout(stdout);
        line
    });
    let error = agent.exec();
    let why = spawn_error(command, error);
    if let Some(mut line) = line {
        let _ = line.write_all(why.to_string().as_bytes());
    }
    why
}

/// Starts the agent as a child of this process, which is the proxy itself. The streams of this process become those of
/// the proxy.
///
/// # Errors
///
/// The agent cannot be started, or the system has no more pipes.
pub fn start_agent(command: &[OsString], record: File) -> Result<(Between, Child), SpawnError> {
    let failed = |error| spawn_error(command, error);
    let (stdin, to_agent) = io::pipe().map_err(failed)?;
    let (from_agent, stdout) = io::pipe().map_err(failed)?;
    let (line, _) = UnixStream::pair().map_err(failed)?;
    let agent = agent(command).stdin(stdin).stdout(stdout).spawn().map_err(failed)?;
    let (from_client, to_client) = take_streams().map_err(failed)?;
    let [from_agent, to_agent] = [OwnedFd::from(from_agent), to_agent.into()].map(File::from);
    let between = Between { from_client, to_client, from_agent, to_agent, record, pid: agent.id(), start: Start(line) };
    Ok((between, agent))
}

/// Returns the standard input and output of this process, and lets it have none: otherwise the client would not see
/// that the agent closed its output, nor the agent that the client has gone.
fn take_streams() -> io::Result<(File, File)> {
    let streams = [io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?];
    let none = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&none)?;
    rustix::stdio::dup2_stdout(&none)?;
    let [from_client, to_client] = streams.map(File::from);
    Ok((from_client, to_client))
}

fn agent(command: &[OsString]) -> Command {
    let mut words = command.iter();
    let mut agent = Command::new(words.next().unwrap_or(&OsString::new()));
    agent.args(words);
    agent
}

/// Explains why the agent cannot be started.
fn spawn_error(command: &[OsString], error: io::Error) -> SpawnError {
    let (program, args) =
        command.split_first().map_or((OsString::new(), &[][..]), |(first, rest)| (first.clone(), rest));
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Launch { program, args: args.to_vec(), cwd, environment: Default::default() }.error(error)
}

/// Starts this program again if this process was started to do that, so that the other one has no parent here.
pub fn detach_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != WORD {
        return None;
    }
    let again = std::env::current_exe().and_then(|program| Command::new(program).args(args).spawn());
    Some(if again.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes over the streams, in a process that [`stand_between`] started.
///
/// # Errors
///
/// Errors of the operating system, and no streams handed over.
pub fn take_over() -> io::Result<Between> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut pid = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut handed = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&line, &mut [IoSliceMut::new(&mut pid)], &mut handed, RecvFlags::empty())?;
    let mut files = handed.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.map(File::from).collect(),
        _ => Vec::new(),
    });
    let mut file = || files.next().ok_or_else(|| io::Error::other("this is for acp-conformance itself"));
    Ok(Between {
        from_client: file()?,
        to_client: file()?,
        from_agent: file()?,
        to_agent: file()?,
        record: file()?,
        pid: u32::from_le_bytes(pid),
        start: Start(line),
    })
}
