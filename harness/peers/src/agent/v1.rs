//! Version 1 of the protocol.

pub(super) mod tools;

use agent_client_protocol::{Error, JsonRpcMessage as _, UntypedMessage, schema::ProtocolVersion, v1::schema as acp};
use serde_json::{Value, json};

use super::{
    auth::LOGIN,
    capabilities::Capabilities,
    clock, extension,
    options::Protocol,
    settings::{COMMANDS, EFFORT, EFFORTS, MODE, MODEL, MODELS, MODES, Settings, VERBOSE},
    store::Record,
    update::{Block, Status, Stop, Update},
    wire::{Message, OPTIONS, Question, Reply, Wire, alike, to_reply},
};

/// Answers a prompt when its turn has ended.
pub(super) fn prompted(stop: Stop) -> Reply {
    match stop {
        Stop::Error => Err(Error::internal_error().data(json!({"reason": "the model failed"}))),
        stop => to_reply(acp::PromptResponse::new(alike(stop)?)),
    }
}

/// Writes messages in version 1.
pub(super) struct V1;

impl Wire for V1 {
    fn version(&self) -> Protocol {
        Protocol::V1
    }

    fn capabilities(&self, params: Value) -> Result<Capabilities, Error> {
        let takes_subagents = params["clientCapabilities"]["subagents"].is_object();
        let found = alike::<acp::InitializeRequest>(params)?.client_capabilities;
        let session = found.session.as_ref();
        let options = session.and_then(|session| session.config_options.as_ref());
        let elicitation = found.elicitation.as_ref();
        Ok(Capabilities {
            reads_files: found.fs.read_text_file,
            writes_files: found.fs.write_text_file,
            has_terminals: found.terminal,
            boolean_options: options.is_some_and(|options| options.boolean.is_some()),
            elicits_forms: elicitation.is_some_and(|elicitation| elicitation.form.is_some()),
            opens_urls: elicitation.is_some_and(|elicitation| elicitation.url.is_some()),
            knows_extension: extension::is_in(found.meta.as_ref()),
            shows_notices: session.is_some_and(|session| session.notices.is_some()),
            shows_compactions: session.is_some_and(|session| session.compaction.is_some()),
            takes_subagents,
            shows_plans: found.plan.is_some(),
        })
    }

    fn initialized(&self) -> Reply {
        let info = acp::Implementation::new("acp-reference-agent", env!("CARGO_PKG_VERSION"));
        let modes = acp::SessionSystemPromptModeCapabilities::new()
            .override_(acp::SessionSystemPromptOverrideCapabilities::new());
        let session = acp::SessionCapabilities::new()
            .list(acp::SessionListCapabilities::new())
            .resume(acp::SessionResumeCapabilities::new())
            .close(acp::SessionCloseCapabilities::new())
            .delete(acp::SessionDeleteCapabilities::new())
            .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
            .system_prompt(acp::SessionSystemPromptCapabilities::new().mode(modes));
        let capabilities = acp::AgentCapabilities::new()
            .load_session(true)
            .mcp_capabilities(acp::McpCapabilities::new().http(true).sse(true))
            .prompt_capabilities(acp::PromptCapabilities::new().image(true).audio(true).embedded_context(true))
            .session_capabilities(session)
            .auth(acp::AgentAuthCapabilities::new().logout(acp::LogoutCapabilities::new()))
            .meta(extension::capabilities());
        let [id, name, description] = LOGIN;
        let login = acp::AuthMethodAgent::new(id, name).description(description.to_owned());
        let response = acp::InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(info.title("ACP reference agent".to_owned()))
            .auth_methods(vec![acp::AuthMethod::Agent(login)]);
        to_reply(response)
    }

    fn opened(&self, new_id: Option<&str>, settings: &Settings) -> Reply {
        let modes = MODES.map(|(id, name)| acp::SessionMode::new(id, name));
        let modes = acp::SessionModeState::new(settings.mode.clone(), modes.into());
        let options = config_options(settings);
        match new_id {
            Some(id) => to_reply(acp::NewSessionResponse::new(id.to_owned()).modes(modes).config_options(options)),
            // The answer to session/resume has the same members.
            None => to_reply(acp::LoadSessionResponse::new().modes(modes).config_options(options)),
        }
    }

    fn listed(&self, sessions: &[Record], next_cursor: Option<String>) -> Reply {
        let info = |record: &Record| {
            acp::SessionInfo::new(record.id.clone(), &record.cwd)
                .additional_directories(record.roots.clone())
                .title(record.title.clone())
                .updated_at(clock::iso8601(record.updated))
        };
        to_reply(acp::ListSessionsResponse::new(sessions.iter().map(info).collect()).next_cursor(next_cursor))
    }

    fn configured(&self, settings: &Settings) -> Reply {
        to_reply(json!({"configOptions": config_options(settings)}))
    }

    fn updates(&self, session: &str, update: &Update, client: Capabilities) -> Result<Vec<UntypedMessage>, Error> {
        let updates = write_updates(update, client)?.into_iter();
        updates.map(|update| acp::SessionNotification::new(session.to_owned(), update).to_untyped_message()).collect()
    }

    fn permission(&self, session: &str, question: &Question) -> Message {
        let call = acp::ToolCallUpdate::new(question.tool.clone(), acp::ToolCallUpdateFields::new());
        acp::RequestPermissionRequest::new(session.to_owned(), call, alike(OPTIONS)?).to_untyped_message()
    }
}

/// Returns the config options; only some clients support boolean ones.
fn config_options(settings: &Settings) -> Vec<acp::SessionConfigOption> {
    let modes: Vec<_> = MODES.map(|(id, name)| acp::SessionConfigSelectOption::new(id, name)).into();
    let efforts: Vec<_> = EFFORTS.map(|(id, name)| acp::SessionConfigSelectOption::new(id, name)).into();
    let models = MODELS.map(|(id, name)| acp::SessionConfigSelectOption::new(id, name));
    let groups = vec![acp::SessionConfigSelectGroup::new("echo", "Echo models", models.into())];
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

fn write_updates(update: &Update, client: Capabilities) -> Result<Vec<acp::SessionUpdate>, Error> {
    let chunk = |id: &str, block: &Block| -> Result<acp::ContentChunk, Error> {
        Ok(acp::ContentChunk::new(alike(block)?).message_id(acp::MessageId::new(id)))
    };
    Ok(vec![match update {
        Update::UserMessage(id, content) => {
            let chunks = content.iter().map(|block| chunk(id, block).map(acp::SessionUpdate::UserMessageChunk));
            return chunks.collect();
        }
        Update::AgentMessage(id, content) => {
            let chunks = content.iter().map(|block| chunk(id, block).map(acp::SessionUpdate::AgentMessageChunk));
            return chunks.collect();
        }
        Update::AgentMessageChunk(id, block) => acp::SessionUpdate::AgentMessageChunk(chunk(id, block)?),
        Update::Thought(id, text) => acp::SessionUpdate::AgentThoughtChunk(chunk(id, &Block::text(text))?),
        Update::ToolCall(call) => {
            let diff = call.diff.iter().map(|diff| {
                acp::ToolCallContent::Diff(acp::Diff::new(&diff.path, &diff.new).old_text(diff.old.clone()))
            });
            let new = acp::ToolCall::new(call.id.clone(), &call.title)
                .kind(alike(&call.kind)?)
                .content(diff.collect())
                .locations(alike(&call.locations)?)
                .raw_input(call.input.clone());
            acp::SessionUpdate::ToolCall(new)
        }
        Update::ToolBegins(begins) => {
            let terminal = |id: &String| vec![acp::ToolCallContent::Terminal(acp::Terminal::new(id.clone()))];
            let fields = acp::ToolCallUpdateFields::new()
                .status(alike::<Option<_>>(Status::InProgress)?)
                .content(begins.terminal.as_ref().map(terminal))
                .locations(alike::<Option<_>>(&begins.locations)?);
            acp::SessionUpdate::ToolCallUpdate(acp::ToolCallUpdate::new(begins.id.clone(), fields))
        }
        Update::ToolEnds(ends) => {
            // A tool call that was cancelled has failed in version 1.
            let status = if ends.status == Status::Cancelled { Status::Failed } else { ends.status };
            let text = |text: &String| {
                vec![acp::ToolCallContent::Content(acp::Content::new(acp::ContentBlock::from(text.clone())))]
            };
            let fields = acp::ToolCallUpdateFields::new()
                .status(alike::<Option<_>>(status)?)
                .content(ends.text.as_ref().map(text))
                .raw_output(ends.output.clone());
            acp::SessionUpdate::ToolCallUpdate(acp::ToolCallUpdate::new(ends.id.clone(), fields))
        }
        Update::Plan(id, entries) if client.shows_plans => {
            let items = acp::PlanItems::new(id.clone(), alike(entries)?);
            acp::SessionUpdate::PlanUpdate(acp::PlanUpdate::new(acp::PlanUpdateContent::Items(items)))
        }
        Update::Plan(_, entries) => acp::SessionUpdate::Plan(acp::Plan::new(alike(entries)?)),
        Update::Mode(mode) => acp::SessionUpdate::CurrentModeUpdate(acp::CurrentModeUpdate::new(mode.clone())),
        Update::ConfigOptions(settings) => {
            acp::SessionUpdate::ConfigOptionUpdate(acp::ConfigOptionUpdate::new(config_options(settings)))
        }
        Update::Commands => {
            let commands = COMMANDS.map(|(name, description, hint)| {
                let input =
                    hint.map(|hint| acp::AvailableCommandInput::Unstructured(acp::UnstructuredCommandInput::new(hint)));
                acp::AvailableCommand::new(name, description).input(input)
            });
            acp::SessionUpdate::AvailableCommandsUpdate(acp::AvailableCommandsUpdate::new(commands.into()))
        }
        Update::Alike(update) => alike(update)?,
        // Version 1 has neither terminals of the agent nor a state of a session; `Client` writes newer updates.
        Update::Newer(_)
        | Update::TerminalOpens(..)
        | Update::TerminalOutput(..)
        | Update::TerminalEnds(..)
        | Update::State(..) => {
            return Ok(Vec::new());
        }
    }])
}
