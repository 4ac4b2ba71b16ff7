//! One message with every type of content block.

use agent_client_protocol::v1::schema::{
    AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent,
    ResourceLink, TextResourceContents,
};

use super::turn::Turn;

/// A PNG of one pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
/// A WAV file with a header and one silent sample.
pub(super) const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQEAAACAAA==";
/// The bytes of "blob".
pub(super) const BLOB: &str = "YmxvYg==";

/// Shows one block of each type as the chunks of one message.
pub(super) fn show(turn: &Turn) {
    let link = ResourceLink::new("notes.txt", "file:///notes.txt").mime_type("text/plain".to_owned());
    let text = TextResourceContents::new("embedded text", "file:///embedded.txt").mime_type("text/plain".to_owned());
    let blob = BlobResourceContents::new(BLOB, "file:///embedded.bin").mime_type("application/octet-stream".to_owned());
    let resource = |contents| ContentBlock::Resource(EmbeddedResource::new(contents));
    let blocks = [
        ContentBlock::from("Every type of content:".to_owned()),
        ContentBlock::Image(ImageContent::new(PNG, "image/png")),
        ContentBlock::Audio(AudioContent::new(WAV, "audio/wav")),
        ContentBlock::ResourceLink(link),
        resource(EmbeddedResourceResource::TextResourceContents(text)),
        resource(EmbeddedResourceResource::BlobResourceContents(blob)),
    ];
    let id = turn.next_message_id();
    blocks.into_iter().for_each(|block| turn.say_part(&id, block));
}
