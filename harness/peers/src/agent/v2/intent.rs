//! The intent of a prompt, and its text.

use agent_client_protocol::v2::schema::{ContentBlock, EmbeddedResourceResource};

use crate::agent::intent::{Intent, without_intents};

/// Returns the intent of the prompt, or why its intent line is invalid.
pub(super) fn of_prompt(prompt: &[ContentBlock]) -> Result<Intent, String> {
    Intent::of_texts(prompt.iter().filter_map(text_of))
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

/// Returns the prompt as one text without its intent lines; other content is named in brackets.
pub(super) fn prompt_text(prompt: &[ContentBlock]) -> String {
    prompt.iter().map(block_text).collect()
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => without_intents(&text.text),
        ContentBlock::Image(image) => format!("[image {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[link {}]", link.name),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            EmbeddedResourceResource::BlobResourceContents(blob) => format!("[blob {}]", blob.uri),
            _ => String::new(),
        },
        _ => String::new(),
    }
}
