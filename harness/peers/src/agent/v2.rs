//! Version 2 of the protocol, a draft.

mod patch;

use std::collections::BTreeMap;

use agent_client_protocol::{
    Error, JsonRpcMessage as _, UntypedMessage,
    schema::{MaybeUndefined, ProtocolVersion},
    v2::schema as acp,
};
use serde_json::{Value, json};

use super::{
    auth::LOGIN,
    capabilities::Capabilities,
    clock, extension,
    options::Protocol,
    settings::{COMMANDS, EFFORT, EFFORTS, MODE, MODEL, MODELS, MODES, Settings, VERBOSE},
    store::Record,
    update::{Foreground, State, Status, Stop, ToolCall, ToolEnds, Update, Work},
    wire::{Message, OPTIONS, Question, Reply, Wire, alike, to_reply},
};

/// Answers a prompt when it is inserted into the conversation.
pub(super) fn prompted(message: &str) -> Reply {
    to_reply(acp::PromptResponse::new(message.to_owned()))
}

/// Writes messages in version 2.
pub(super) struct V2;

impl Wire for V2 {
    fn version(&self) -> Protocol {
        Protocol::V2
    }

    fn capabilities(&self, params: Value) -> Result<Capabilities, Error> {
        let found = alike::<acp::InitializeRequest>(params)?.capabilities;
        let elicitation = found.elicitation.as_ref();
        Ok(Capabilities {
            // In version 2 the agent has files and terminals itself.
            reads_files: false,
            writes_files: false,
            has_terminals: false,
            boolean_options: true,
            elicits_forms: elicitation.is_some_and(|elicitation| elicitation.form.is_some()),
            opens_urls: elicitation.is_some_and(|elicitation| elicitation.url.is_some()),
            knows_extension: extension::is_in(found.meta.as_ref()),
            shows_notices: true,
            shows_compactions: true,
            takes_subagents: true,
            shows_plans: true,
        })
    }

    fn initialized(&self) -> Reply {
        let info = acp::Implementation::new("acp-reference-agent", env!("CARGO_PKG_VERSION"));
        let prompt = acp::PromptCapabilities::new()
            .image(acp::PromptImageCapabilities::new())
            .audio(acp::PromptAudioCapabilities::new())
            .embedded_context(acp::PromptEmbeddedContextCapabilities::new());
        let modes = acp::SessionSystemPromptModeCapabilities::new()
            .override_(acp::SessionSystemPromptOverrideCapabilities::new());
        let session = acp::SessionCapabilities::new()
            .prompt(prompt)
            .mcp(
                acp::McpCapabilities::new()
                    .stdio(acp::McpStdioCapabilities::new())
                    .http(acp::McpHttpCapabilities::new()),
            )
            .delete(acp::SessionDeleteCapabilities::new())
            .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
            .system_prompt(acp::SessionSystemPromptCapabilities::new().mode(modes));
        let [id, name, description] = LOGIN;
        let login = acp::AuthMethodAgent::new(id, name).description(description.to_owned());
        let info = info.title("ACP reference agent".to_owned());
        let response = acp::InitializeResponse::new(ProtocolVersion::V2, info)
            .capabilities(acp::AgentCapabilities::new().session(session).meta(extension::capabilities()))
            .auth_methods(vec![acp::AuthMethod::Agent(login)]);
        to_reply(response)
    }

    fn opened(&self, new_id: Option<&str>, settings: &Settings) -> Reply {
        let options = config_options(settings);
        match new_id {
            Some(id) => to_reply(
                acp::NewSessionResponse::new(id.to_owned()).config_options(options).available_commands(commands()),
            ),
            None => to_reply(acp::ResumeSessionResponse::new().config_options(options).available_commands(commands())),
        }
    }

    fn listed(&self, sessions: &[Record], next_cursor: Option<String>) -> Reply {
        let info = |record: &Record| {
            acp::SessionInfo::new(record.id.clone(), acp::AbsolutePath::new(&record.cwd))
                .additional_directories(record.roots.iter().map(acp::AbsolutePath::new).collect::<Vec<_>>())
                .title(record.title.clone())
                .updated_at(clock::iso8601(record.updated))
        };
        let next_cursor = next_cursor.map(acp::SessionListCursor::new);
        to_reply(acp::ListSessionsResponse::new(sessions.iter().map(info).collect()).next_cursor(next_cursor))
    }

    fn configured(&self, settings: &Settings) -> Reply {
        to_reply(acp::SetSessionConfigOptionResponse::new(config_options(settings)))
    }

    fn updates(&self, session: &str, update: &Update, _: Capabilities) -> Result<Vec<UntypedMessage>, Error> {
        let updates = write_updates(update)?.into_iter();
        updates
            .map(|update| acp::UpdateSessionNotification::new(session.to_owned(), update).to_untyped_message())
            .collect()
    }

    fn permission(&self, session: &str, question: &Question) -> Message {
        let tool = question.tool.clone();
        let subject = match &question.command {
            Some((line, cwd)) => acp::RequestPermissionSubject::Command(
                acp::CommandPermissionSubject::new(line, acp::AbsolutePath::new(cwd))
                    .tool_call_id(acp::ToolCallId::new(tool)),
            ),
            None => {
                let call = acp::ToolCallPermissionSubject::new(acp::ToolCallUpdate::new(tool));
                acp::RequestPermissionSubject::ToolCall(Box::new(call))
            }
        };
        acp::RequestPermissionRequest::new(session.to_owned(), &question.title, alike(OPTIONS)?)
            .subject(subject)
            .to_untyped_message()
    }
}

fn config_options(settings: &Settings) -> Vec<acp::SessionConfigOption> {
    let modes: Vec<_> = MODES.map(|(id, name)| acp::SessionConfigSelectOption::new(id, name)).into();
    let efforts: Vec<_> = EFFORTS.map(|(id, name)| acp::SessionConfigSelectOption::new(id, name)).into();
    let group = |(id, name): (&str, &str)| {
        let model = acp::SessionConfigSelectOption::new(id.to_owned(), name.to_owned());
        acp::SessionConfigSelectGroup::new(format!("{id}-models"), format!("{name} models"), vec![model])
    };
    let groups: Vec<_> = MODELS.map(group).into();
    let mut options = vec![
        acp::SessionConfigOption::select(MODE, "Mode", settings.mode.clone(), modes)
            .category(acp::SessionConfigOptionCategory::Mode),
        acp::SessionConfigOption::select(MODEL, "Model", settings.model.clone(), groups)
            .category(acp::SessionConfigOptionCategory::Model),
    ];
    options.extend(settings.verbose.map(|verbose| acp::SessionConfigOption::boolean(VERBOSE, "Verbose", verbose)));
    options.push(
        acp::SessionConfigOption::select(EFFORT, "Effort", settings.effort.clone(), efforts)
            .category(acp::SessionConfigOptionCategory::ThoughtLevel),
    );
    options
}

fn commands() -> Vec<acp::AvailableCommand> {
    let commands = COMMANDS.map(|(name, description, hint)| {
        let input = hint.map(|hint| acp::AvailableCommandInput::Text(acp::TextCommandInput::new(hint)));
        acp::AvailableCommand::Command(acp::Command::new(name, description).input(input))
    });
    commands.into()
}

fn write_updates(update: &Update) -> Result<Vec<acp::SessionUpdate>, Error> {
    Ok(vec![match update {
        Update::UserMessage(id, content) => {
            acp::SessionUpdate::UserMessage(acp::UserMessage::new(id.clone()).content(alike::<Vec<_>>(content)?))
        }
        Update::AgentMessage(id, content) => {
            acp::SessionUpdate::AgentMessage(acp::AgentMessage::new(id.clone()).content(alike::<Vec<_>>(content)?))
        }
        Update::AgentMessageChunk(id, block) => {
            acp::SessionUpdate::AgentMessageChunk(acp::ContentChunk::new(alike(block)?, id.clone()))
        }
        Update::Thought(id, text) => {
            let content = vec![acp::ContentBlock::from(text.clone())];
            acp::SessionUpdate::AgentThought(acp::AgentThought::new(id.clone()).content(content))
        }
        Update::ToolCall(call) => acp::SessionUpdate::ToolCallUpdate(write_tool_call(call)?),
        Update::ToolBegins(begins) => {
            let mut update = acp::ToolCallUpdate::new(begins.id.clone()).status(acp::ToolCallStatus::InProgress);
            if let Some(terminal) = &begins.terminal {
                update = update.content(vec![acp::ToolCallContent::Terminal(acp::Terminal::new(terminal.clone()))]);
            }
            if let Some(locations) = &begins.locations {
                update = update.locations(alike::<Vec<_>>(locations)?);
            }
            if begins.can_cancel {
                update = update
                    .capabilities(acp::ToolCallCapabilities::new().cancel(acp::ToolCallCancelCapabilities::new()));
            }
            acp::SessionUpdate::ToolCallUpdate(update)
        }
        Update::ToolEnds(ends) => return write_tool_end(ends),
        Update::TerminalOpens(id, command, cwd) => {
            let capabilities = acp::TerminalCapabilities::new().cancel(acp::TerminalCancelCapabilities::new());
            let update = acp::TerminalUpdate::new(id.clone())
                .command(command.clone())
                .cwd(acp::AbsolutePath::new(cwd))
                .size(acp::TerminalSize::new(80, 24))
                .capabilities(capabilities);
            acp::SessionUpdate::TerminalUpdate(update)
        }
        Update::TerminalOutput(id, data) => {
            acp::SessionUpdate::TerminalOutputChunk(acp::TerminalOutputChunk::new(id.clone(), data.clone()))
        }
        Update::TerminalEnds(id, output, code, signal) => {
            let update = acp::TerminalUpdate::new(id.clone())
                .output(acp::TerminalOutput::new(output.clone()))
                .exit_status(acp::TerminalExitStatus::new().exit_code(*code).signal(signal.clone()))
                .capabilities(MaybeUndefined::Null);
            acp::SessionUpdate::TerminalUpdate(update)
        }
        Update::Plan(id, entries) => {
            let items = acp::PlanItems::new(id.clone(), alike(entries)?);
            acp::SessionUpdate::PlanUpdate(acp::PlanUpdate::new(acp::PlanUpdateContent::Items(items)))
        }
        Update::State(state, stop) => acp::SessionUpdate::StateUpdate(write_state(state, *stop)?),
        Update::ConfigOptions(settings) => {
            acp::SessionUpdate::ConfigOptionUpdate(acp::ConfigOptionUpdate::new(config_options(settings)))
        }
        Update::Commands => acp::SessionUpdate::AvailableCommandsUpdate(acp::AvailableCommandsUpdate::new(commands())),
        Update::Alike(update) => alike(update)?,
        // In version 2 the mode is only a config option; `Client` writes newer updates.
        Update::Mode(_) | Update::Newer(_) => return Ok(Vec::new()),
    }])
}

fn write_tool_call(call: &ToolCall) -> Result<acp::ToolCallUpdate, Error> {
    let mut update = acp::ToolCallUpdate::new(call.id.clone())
        .name(call.name.clone())
        .title(call.title.clone())
        .kind(alike::<acp::ToolKind>(&call.kind)?)
        .status(acp::ToolCallStatus::Pending);
    if !call.locations.is_empty() {
        update = update.locations(alike::<Vec<_>>(&call.locations)?);
    }
    if let Some(input) = &call.input {
        update = update.raw_input(input.clone());
    }
    if let Some(diff) = &call.diff {
        update = update.content(vec![acp::ToolCallContent::Diff(patch::write(diff))]);
    }
    Ok(update)
}

/// Adds the text to the content, and then the final status. A tool call that was cancelled needs no text.
fn write_tool_end(ends: &ToolEnds) -> Result<Vec<acp::SessionUpdate>, Error> {
    let is_cancelled = ends.status == Status::Cancelled;
    let text = ends.text.as_ref().filter(|_| !is_cancelled).map(|text| {
        let content = acp::ToolCallContent::Content(Box::new(acp::Content::new(acp::ContentBlock::from(text.clone()))));
        acp::SessionUpdate::ToolCallContentChunk(acp::ToolCallContentChunk::new(ends.id.clone(), content))
    });
    let mut update = acp::ToolCallUpdate::new(ends.id.clone()).status(alike::<acp::ToolCallStatus>(ends.status)?);
    if is_cancelled || ends.could_cancel {
        update = update.capabilities(MaybeUndefined::Null);
    }
    if let Some(output) = &ends.output {
        update = update.raw_output(output.clone());
    }
    Ok(text.into_iter().chain([acp::SessionUpdate::ToolCallUpdate(update)]).collect())
}

fn write_state(state: &State, stop: Option<Stop>) -> Result<acp::StateUpdate, Error> {
    let work = |work: &Work| match work {
        Work::Terminal(id) => acp::BackgroundWork::Terminal(acp::BackgroundTerminal::new(id.clone())),
        Work::Subagent(id) => acp::BackgroundWork::Subagent(acp::BackgroundSubagent::new(id.clone())),
    };
    let background: Vec<_> = state.background.iter().map(work).collect();
    Ok(match state.foreground {
        Foreground::Idle => {
            let stop = match stop {
                Some(Stop::Error) => {
                    let error = acp::Error::new(acp::ErrorCode::InternalError.into(), "The model failed");
                    Some(acp::StopReason::Error(acp::ErrorStopReason::new().error(error)))
                }
                Some(stop) => Some(alike::<acp::StopReason>(json!({"stopReason": stop}))?),
                None => None,
            };
            acp::StateUpdate::Idle(acp::IdleStateUpdate::new().stop_reason(stop).background(background))
        }
        Foreground::Running => acp::StateUpdate::Running(acp::RunningStateUpdate::new().background(background)),
        Foreground::RequiresAction => {
            acp::StateUpdate::RequiresAction(acp::RequiresActionStateUpdate::new().background(background))
        }
        Foreground::Greeting => {
            let members = BTreeMap::from([("background".to_owned(), json!(background))]);
            acp::StateUpdate::Other(acp::OtherStateUpdate::new(extension::GREETING, members))
        }
    })
}
