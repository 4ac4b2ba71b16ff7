//! The cost of an action: time on a core, and memory.

use std::time::{Duration, Instant};

/// The CPU time of this program, which other processes hardly affect; on other systems the time of day.
pub enum Clock {
    Core(Duration),
    Day(Instant),
}

impl Clock {
    pub fn now() -> Self {
        on_core().map_or_else(|| Self::Day(Instant::now()), Self::Core)
    }

    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Core(before) => on_core().unwrap_or_default().saturating_sub(*before),
            Self::Day(before) => before.elapsed(),
        }
    }
}

fn on_core() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?))
}

/// Resets the highest resident size, if the system can.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the highest resident size since then in MiB, if the system reports it.
pub fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

/// Returns the power of the size with which the time grows: 1 is linear, 2 is quadratic.
pub fn exponent(sizes: [usize; 2], times: [Duration; 2]) -> f64 {
    let growth = times[1].as_secs_f64() / times[0].as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let size = sizes[1] as f64 / sizes[0] as f64;
    growth.ln() / size.ln()
}

/// Writes a number with separated thousands.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}
