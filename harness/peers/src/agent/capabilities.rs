//! What the agent uses of its client.

/// The capabilities of the client that this agent uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capabilities {
    pub reads_files: bool,
    pub writes_files: bool,
    pub has_terminals: bool,
    pub boolean_options: bool,
    pub elicits_forms: bool,
    pub opens_urls: bool,
    pub knows_extension: bool,
    pub shows_notices: bool,
    pub shows_compactions: bool,
    pub takes_subagents: bool,
    /// Whether plans have ids.
    pub shows_plans: bool,
}
