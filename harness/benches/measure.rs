//! The common part of the measurements: the rows of one table.

/// Prints a row of the table that `scripts/bench` joins: the measurement, our value, the floor, their ratio, and the
/// target.
#[expect(clippy::print_stdout, reason = "a program of its own")]
pub fn row(cells: [&str; 5]) {
    println!("| {} |", cells.join(" | "));
}

/// Whether this is a measurement; otherwise it runs as a test, and everything is small.
pub fn is_wanted() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}
