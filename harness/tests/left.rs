//! What a case leaves behind, which is to be nothing.

use std::path::Path;
use std::time::{Duration, Instant};

/// A killed process needs a moment to go.
const MOMENT: Duration = Duration::from_secs(10);

/// Makes sure that the folder of a case is gone, and every process that has to do with it.
pub fn nothing(sandbox: &Path) {
    let deadline = Instant::now() + MOMENT;
    while !processes(sandbox).is_empty() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(processes(sandbox), Vec::<String>::new(), "processes were left");
    assert!(!sandbox.exists(), "{} was left", sandbox.display());
}

/// The processes with the folder in their arguments or their environment. One that ended and that nobody has waited for
/// has neither.
fn processes(sandbox: &Path) -> Vec<String> {
    let sandbox = sandbox.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let mentions = |path: &Path| {
        let texts = ["cmdline", "environ"].map(|name| std::fs::read(path.join(name)).unwrap_or_default());
        let found = texts.iter().any(|text| text.windows(sandbox.len()).any(|part| part == sandbox));
        found.then(|| String::from_utf8_lossy(&texts[0]).replace('\0', " "))
    };
    entries.filter_map(|path| mentions(&path)).collect()
}
