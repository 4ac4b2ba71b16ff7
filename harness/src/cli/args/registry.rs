//! Arguments of `registry`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::options::{Shard, count, duration, heading};
use crate::registry::{REGISTRY_URL, RegistryLimits};

/// Arguments of `registry`.
#[derive(Debug, clap::Args)]
#[command(after_help = REGISTRY_HELP)]
pub struct RegistryArgs {
    /// The registry: its index, one agent.json, or a folder of them; a file or an address
    #[arg(value_name = "FILE|URL", default_value = REGISTRY_URL)]
    pub registry: String,
    /// The folder for the results
    ///
    /// A run continues with the results that are there: an entry with a result for its version and this version of
    /// acp-conformance is not tested again.
    #[arg(long, short, alias = "out", value_name = "DIR", default_value = "registry-results")]
    #[arg(help_heading = heading::REPORTS)]
    pub output: PathBuf,
    /// The folder for installations and downloads [default: acp-conformance/registry in the user's cache]
    #[arg(long, value_name = "DIR", help_heading = heading::REPORTS)]
    pub cache: Option<PathBuf>,
    /// Keep the traces of all cases below `traces` in that folder, which may be some hundred MB for an entry
    #[arg(long, help_heading = heading::REPORTS)]
    pub traces: bool,
    /// Only show the entries and how each would be installed and tested
    #[arg(long, conflicts_with = "collect", help_heading = heading::SELECTION)]
    pub list: bool,
    /// Only write the board, the changes and the feed, from the results in the folder
    ///
    /// For shards: copy their folders into one first.
    #[arg(long, help_heading = heading::SELECTION)]
    pub collect: bool,
    /// Only these entries, by id or glob; may be repeated
    #[arg(long, value_name = "GLOB", help_heading = heading::SELECTION)]
    pub only: Vec<String>,
    /// Only one part of these entries, such as 2/3 for the second of three
    #[arg(long, value_name = "K/N", help_heading = heading::SELECTION)]
    pub shard: Option<Shard>,
    /// Test entries again that have a result
    #[arg(long, help_heading = heading::SELECTION)]
    pub again: bool,
    /// Run only a few cases of each entry, which cover most MUSTs
    #[arg(long, help_heading = heading::SELECTION)]
    pub quick: bool,
    /// How many entries are installed and tested at once
    #[arg(long, short, value_name = "N", value_parser = count, default_value = "1", help_heading = heading::LIMITS)]
    pub jobs: NonZeroUsize,
    /// End the cases of an entry after this time; its reports are partial [seconds, unless suffixed with ms, s or m]
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m", help_heading = heading::LIMITS)]
    pub time_limit: Duration,
    /// Give up an installation after this time
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m", help_heading = heading::LIMITS)]
    pub install_limit: Duration,
    /// Stop an entry whose processes use more memory [K, M or G]
    ///
    /// The limits of memory, disk and processes are checked several times a second; those of memory and processes only
    /// on Linux.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4G", help_heading = heading::LIMITS)]
    pub memory: u64,
    /// Stop an entry or an installation that writes more
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4G", help_heading = heading::LIMITS)]
    pub disk: u64,
    /// Stop an entry that runs more processes at once
    #[arg(long, value_name = "N", default_value_t = 300, help_heading = heading::LIMITS)]
    pub processes: usize,
    /// Do not run the install scripts of npm packages
    ///
    /// Many packages unpack their program in one.
    #[arg(long, help_heading = heading::LIMITS)]
    pub no_scripts: bool,
}

impl RegistryArgs {
    /// Returns the limits of an entry.
    pub const fn limits(&self) -> RegistryLimits {
        let Self { time_limit, install_limit, memory, disk, processes, .. } = self;
        RegistryLimits {
            time: *time_limit,
            install: *install_limit,
            memory: *memory,
            disk: *disk,
            processes: *processes,
        }
    }
}

/// Parses a number of bytes, such as `512M` or `4G`.
fn size(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) if text.ends_with('K') => (number, 1 << 10),
        Some(number) if text.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1 << 30),
        None => (text, 1),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or("expected a size such as 512M or 4G")
}

const REGISTRY_HELP: &str =
    "For each entry, the program installs the pinned version with npm, with uv or pip, or from the archive for this platform. It \
starts the entry, checks the registry's own rule (a login of the type agent or terminal), and runs the cases in each version \
of the protocol that the agent speaks: with the scripted model if there is a built-in profile for it, else those that need no \
login and no model.

Agents are programs of others. They get folders of their own and only common environment variables, but they run with your \
rights: use a container or a virtual machine for a registry that you do not trust.

DIR gets results.json, registry.lock, reports/, board/index.html, board.md and feed.xml. An entry that cannot be installed or \
started is a result with its reason. Exit code 0: every selected entry has a result.

Examples:
  acp-conformance registry --list
  acp-conformance registry --only gemini --only 'claude*' --jobs 2 -o results
  acp-conformance registry --shard 1/2 -o results registry.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(["1", "2K", "3M", "4G"].map(size), [Ok(1), Ok(2 << 10), Ok(3 << 20), Ok(4 << 30)]);
        for wrong in ["", "0", "G", "-1", "1T", "99999999999999999999G", "1.5G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
