//! Shows the progress of a run on standard error: in a terminal as one line that is removed at the end, in a log as
//! occasional lines.

use std::io::{IsTerminal, Stderr, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::report::SuiteEvent;
use crate::report::progress::{Pace, RunProgress, first_results};
use crate::sync::lock;

/// The shortest time between two drawings.
const TICK: Duration = Duration::from_millis(100);

/// The least age of a run whose first results get a line. A shorter run has its report as soon as the user could read
/// it.
const WORTH_A_LINE: Duration = Duration::from_secs(5);

/// The width of a terminal that does not report it.
const USUAL_WIDTH: usize = 80;

/// Moves to the beginning of the line and clears it.
const CLEAR: &str = "\r\x1b[2K";

/// The progress line, which also changes while no events come.
pub(super) struct ProgressLine {
    shown: Arc<Mutex<Shown<Stderr>>>,
    /// The ticker ends when this is dropped.
    alive: Option<mpsc::Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Creates the line for this run; `None` in a log that should be quiet.
    pub(super) fn begin(quiet: bool) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let now = Instant::now();
        let manner = if std::io::stderr().is_terminal() && !is_dumb {
            Manner::Terminal { drawn: None }
        } else if quiet {
            return None;
        } else {
            Manner::Log(Pace::new(now))
        };
        let shown = Arc::new(Mutex::new(Shown {
            standing: RunProgress::default(),
            out: std::io::stderr(),
            manner,
            begun: now,
        }));
        let (alive, ended) = mpsc::channel();
        let ticking = Arc::clone(&shown);
        let ticker = std::thread::spawn(move || {
            while ended.recv_timeout(TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                lock(&ticking).tick(Instant::now(), width());
            }
        });
        Some(Self { shown, alive: Some(alive), ticker: Some(ticker) })
    }

    /// Hides the line while other text is written.
    pub(super) fn apart(&self, write: impl FnOnce()) {
        let mut shown = lock(&self.shown);
        let drawn = shown.clear();
        write();
        shown.restore(drawn);
    }

    /// Hides the line while other output is written for this event.
    pub(super) fn around<T>(&self, event: &SuiteEvent<'_>, write: impl FnOnce() -> T) -> T {
        let mut shown = lock(&self.shown);
        let drawn = shown.clear();
        let written = write();
        shown.first(event, Instant::now());
        shown.standing.event(event, Instant::now());
        if !matches!(event, SuiteEvent::Run(_)) {
            shown.restore(drawn);
        }
        written
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
        lock(&self.shown).clear();
    }
}

/// Returns the number of characters in a line without the last column, where some terminals would begin the next line.
fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0)).saturating_sub(1)
}

/// The progress of a run, and its display. Display errors have no consequences.
struct Shown<W> {
    standing: RunProgress,
    out: W,
    manner: Manner,
    begun: Instant,
}

/// The manner of the display.
enum Manner {
    /// In one line, which is redrawn; `None` while it is not shown.
    Terminal { drawn: Option<String> },
    /// As an occasional line.
    Log(Pace),
}

impl<W: Write> Shown<W> {
    fn tick(&mut self, now: Instant, width: usize) {
        match &mut self.manner {
            Manner::Terminal { drawn } => {
                let line = self.standing.line(now, width);
                if *drawn != line {
                    let _ = write!(self.out, "{CLEAR}{}", line.as_deref().unwrap_or_default());
                    let _ = self.out.flush();
                    *drawn = line;
                }
            }
            Manner::Log(pace) => {
                if pace.is_due(&self.standing, now) {
                    let sentence = self.standing.sentence(now);
                    let _ = sentence.map_or(Ok(()), |sentence| writeln!(self.out, "{sentence}"));
                }
            }
        }
    }

    /// Writes the first results in a line that stays, unless the whole run is about to end.
    fn first(&mut self, event: &SuiteEvent<'_>, now: Instant) {
        let took = now.duration_since(self.begun);
        if let SuiteEvent::First(standing) = event
            && took >= WORTH_A_LINE
        {
            let _ = writeln!(self.out, "{}", first_results(standing, took));
        }
    }

    /// Removes the line, if there is one.
    fn clear(&mut self) -> Option<String> {
        let Manner::Terminal { drawn } = &mut self.manner else { return None };
        let line = drawn.take()?;
        let _ = write!(self.out, "{CLEAR}");
        let _ = self.out.flush();
        Some(line)
    }

    /// Restores the line unchanged; the next tick updates it.
    fn restore(&mut self, line: Option<String>) {
        if let (Manner::Terminal { drawn }, Some(line)) = (&mut self.manner, line) {
            let _ = write!(self.out, "{line}");
            let _ = self.out.flush();
            *drawn = Some(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::InterimResults;

    fn shown(manner: Manner) -> Shown<Vec<u8>> {
        let mut standing = RunProgress::default();
        standing.event(&SuiteEvent::Start("v1/agent/fs/read"), Instant::now());
        Shown { standing, out: Vec::new(), manner, begun: Instant::now() }
    }

    #[test]
    fn the_line_is_drawn_when_it_changes_and_cleared_once() {
        let mut shown = shown(Manner::Terminal { drawn: None });
        let now = Instant::now();
        shown.tick(now, 80);
        shown.tick(now, 80);
        assert_eq!(shown.out, b"\r\x1b[2K[0/0] 1 running  v1/agent/fs/read");
        shown.out.clear();
        let line = shown.clear();
        assert_eq!(shown.clear(), None);
        shown.restore(line);
        shown.tick(now, 80);
        assert_eq!(shown.out, b"\r\x1b[2K[0/0] 1 running  v1/agent/fs/read");
    }

    #[test]
    fn only_a_long_run_shows_its_first_results() {
        let mut shown = shown(Manner::Terminal { drawn: None });
        let standing = InterimResults { cases: 40, passed: 120, failed: Vec::new() };
        let begun = shown.begun;
        shown.first(&SuiteEvent::First(&standing), begun + Duration::from_secs(1));
        assert_eq!(shown.out, b"");
        shown.first(&SuiteEvent::First(&standing), begun + Duration::from_secs(12));
        let line = "first results after 12 s and 40 cases: 120 requirements pass, none fails\n";
        assert_eq!(String::from_utf8_lossy(&shown.out), line);
    }

    #[test]
    fn a_log_gets_whole_lines_and_no_codes() {
        let begun = Instant::now();
        let mut shown = shown(Manner::Log(Pace::new(begun)));
        shown.tick(begun, 80);
        shown.clear();
        assert_eq!(shown.out, b"");
        shown.tick(begun + Duration::from_secs(60), 80);
        let text = String::from_utf8(shown.out).expect("text");
        assert!(text.starts_with("0 of 0 cases are done, 1 running, v1/agent/fs/read for "), "{text}");
        assert!(text.ends_with(" s\n"), "{text}");
    }
}
