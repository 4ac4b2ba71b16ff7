//! The content blocks of prompts, which are the same in all versions of the protocol.

use std::{fs, path::Path};

use agent_client_protocol::v1::schema::{
    AudioContent, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink,
    TextResourceContents,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::{act::Attachment, agent_info::Capabilities, output::log};

/// The bytes that are escaped in the path of a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The file that is attached if the session's directory has none.
const NOTE: (&str, &str) = ("note.txt", "A note.\n");

/// A file attached to a prompt.
struct Attached {
    name: String,
    uri: String,
    text: String,
}

/// Builds the content of a prompt, without the attachments that the agent does not accept.
pub(super) fn prompt(takes: &Capabilities, cwd: &Path, text: String, attach: &[Attachment]) -> Vec<ContentBlock> {
    let attached = attach.iter().filter_map(|attachment| block(*attachment, takes, cwd));
    std::iter::once(ContentBlock::from(text)).chain(attached).collect()
}

fn block(attachment: Attachment, takes: &Capabilities, cwd: &Path) -> Option<ContentBlock> {
    match attachment {
        Attachment::Image if takes.image => Some(ContentBlock::Image(ImageContent::new(PNG, "image/png"))),
        Attachment::Audio if takes.audio => Some(ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))),
        Attachment::Image => left_out("image"),
        Attachment::Audio => left_out("audio"),
        Attachment::File if takes.embedded_context => {
            let file = file_in(cwd);
            let contents = TextResourceContents::new(file.text, file.uri).mime_type("text/plain".to_owned());
            let resource = EmbeddedResourceResource::TextResourceContents(contents);
            Some(ContentBlock::Resource(EmbeddedResource::new(resource)))
        }
        Attachment::File | Attachment::Mention => {
            let file = file_in(cwd);
            Some(ContentBlock::ResourceLink(ResourceLink::new(file.name, file.uri).mime_type("text/plain".to_owned())))
        }
    }
}

fn left_out(what: &str) -> Option<ContentBlock> {
    log(&format!("{what} left out of the prompt: the agent does not take it"));
    None
}

/// Picks the first text file of a directory, or invents one.
fn file_in(cwd: &Path) -> Attached {
    let mut paths: Vec<_> = fs::read_dir(cwd).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let found = paths.into_iter().filter(|path| path.is_file()).find_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        Some((path, text))
    });
    let (path, text) = found.unwrap_or_else(|| (cwd.join(NOTE.0), NOTE.1.to_owned()));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Attached { name, uri: file_uri(&path), text }
}

/// Writes a path as a URI.
fn file_uri(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_follows_the_capabilities() {
        let cwd = Path::new("/nowhere at all");
        let none = Capabilities::default();
        let all = Capabilities { image: true, audio: true, embedded_context: true, ..Capabilities::default() };
        assert!(block(Attachment::Image, &none, cwd).is_none());
        assert!(block(Attachment::Audio, &none, cwd).is_none());
        assert!(matches!(block(Attachment::File, &none, cwd), Some(ContentBlock::ResourceLink(_))));
        assert!(matches!(block(Attachment::Image, &all, cwd), Some(ContentBlock::Image(_))));
        assert!(matches!(block(Attachment::Audio, &all, cwd), Some(ContentBlock::Audio(_))));
        assert!(matches!(block(Attachment::File, &all, cwd), Some(ContentBlock::Resource(_))));
        assert!(matches!(block(Attachment::Mention, &all, cwd), Some(ContentBlock::ResourceLink(_))));
    }

    #[test]
    fn uris_are_escaped() {
        assert_eq!(file_uri(Path::new("/a b/\u{e9}")), "file:///a%20b/%C3%A9");
    }
}
