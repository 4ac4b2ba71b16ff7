//! Reading and writing files for the agent.

use std::{
    fs,
    io::{self, ErrorKind, Write as _},
    path::Path,
    sync::Arc,
};

use agent_client_protocol::{
    Error, ErrorCode,
    v1::{
        Responder,
        schema::{ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse},
    },
};
use serde_json::{Value, json};

use super::{
    Fault,
    serve::answer,
    state::{Client, failed, invalid},
};

/// Reads a file, or a window of its lines.
pub(super) fn read(client: &Client, request: &ReadTextFileRequest) -> Result<Value, Error> {
    client.served_session(&request.session_id)?;
    let path = absolute(&request.path)?;
    let text = match client.unsaved(path).map_or_else(|| read_text(path), Ok) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && client.commits(Fault::MissingFileEmpty) => String::new(),
        Err(error) if client.commits(Fault::ReadErrorInternal) => return Err(failed(&error.to_string())),
        Err(error) => return Err(refusal(path, &error)),
    };
    let mut content = window(&text, request.line, request.limit, |fault| client.commits(fault));
    if client.commits(Fault::ReadAppendsNewline) {
        content.push('\n');
    }
    if content.is_empty() && client.commits(Fault::EmptyFileNull) {
        return Ok(json!({"content": null}));
    }
    serde_json::to_value(ReadTextFileResponse::new(content)).map_err(Error::into_internal_error)
}

/// Writes a file and answers the request.
pub(super) fn answer_write(
    client: &Arc<Client>,
    request: &WriteTextFileRequest,
    responder: Responder,
) -> Result<(), Error> {
    if client.commits(Fault::WriteAnswersFirst) {
        answer(responder, Ok(WriteTextFileResponse::new()))?;
        let (client, request) = (Arc::clone(client), request.clone());
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            // The success was told already; that is the fault.
            let _ = write(&client, &request);
        });
        return Ok(());
    }
    let written = write(client, request);
    if client.commits(Fault::WriteFailureHidden) {
        return answer(responder, Ok(WriteTextFileResponse::new()));
    }
    answer(responder, written)
}

fn write(client: &Client, request: &WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
    client.served_session(&request.session_id)?;
    let path = absolute(&request.path)?;
    let mut content = request.content.clone();
    if client.commits(Fault::WriteAppendsNewline) && !content.ends_with('\n') {
        content.push('\n');
    }
    if client.options.unsaved {
        client.keep_unsaved(path, content);
        return Ok(WriteTextFileResponse::new());
    }
    let written = write_text(client, path, &content);
    written.map(|()| WriteTextFileResponse::new()).map_err(|error| refusal(path, &error))
}

fn write_text(client: &Client, path: &Path, content: &str) -> io::Result<()> {
    // A pipe or a device could hold up the client for ever.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("not a regular file"));
    }
    let creates = !client.commits(Fault::WriteNoCreate);
    if let Some(folder) = path.parent().filter(|_| creates) {
        fs::create_dir_all(folder)?;
    }
    let truncates = !client.commits(Fault::WriteNoTruncate);
    let mut file = fs::OpenOptions::new().write(true).create(creates).truncate(truncates).open(path)?;
    file.write_all(content.as_bytes())
}

fn read_text(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    fs::read_to_string(path)
}

fn absolute(path: &Path) -> Result<&Path, Error> {
    if path.is_absolute() { Ok(path) } else { Err(invalid("the path is not absolute")) }
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    let data = json!({"path": path, "reason": error.to_string()});
    if error.kind() == ErrorKind::NotFound {
        Error::new(ErrorCode::RESOURCE_NOT_FOUND, "Resource not found").data(data)
    } else {
        Error::internal_error().data(data)
    }
}

/// Returns `limit` lines from the 1-based `line` on, each with its line end as it is in the text.
fn window(text: &str, line: Option<u32>, limit: Option<u32>, commits: impl Fn(Fault) -> bool) -> String {
    let first = line.map_or(0, |line| if commits(Fault::LineZeroBased) { line } else { line.saturating_sub(1) });
    let mut take = limit.map_or(usize::MAX, |limit| limit as usize);
    if limit.is_none() && line.is_some() && commits(Fault::LineAloneIsOne) {
        take = 1;
    }
    if commits(Fault::LimitIgnored) {
        take = usize::MAX;
    }
    if limit.is_some() && commits(Fault::LimitOffByOne) {
        take = take.saturating_add(1);
    }
    if limit.is_some() && commits(Fault::LimitIsLastLine) {
        take = take.saturating_sub(first as usize);
    }
    text.split_inclusive('\n').skip(first as usize).take(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: Option<u32>, limit: Option<u32>, fault: Option<Fault>) -> String {
        window("a\nb\r\nc\nd", line, limit, |committed| Some(committed) == fault)
    }

    #[test]
    fn windows_count_from_one_and_keep_line_ends() {
        let table = [
            (None, None, "a\nb\r\nc\nd"),
            (Some(1), None, "a\nb\r\nc\nd"),
            (Some(2), Some(2), "b\r\nc\n"),
            (None, Some(1), "a\n"),
            (Some(4), Some(9), "d"),
            (Some(5), None, ""),
            (Some(0), Some(1), "a\n"),
            (None, Some(0), ""),
        ];
        for (line, limit, wanted) in table {
            assert_eq!(lines(line, limit, None), wanted, "line {line:?} limit {limit:?}");
        }
    }

    #[test]
    fn faults_shift_the_window() {
        assert_eq!(lines(Some(2), Some(1), Some(Fault::LineZeroBased)), "c\n");
        assert_eq!(lines(Some(2), Some(1), Some(Fault::LimitOffByOne)), "b\r\nc\n");
        assert_eq!(lines(Some(2), Some(3), Some(Fault::LimitIsLastLine)), "b\r\nc\n");
        assert_eq!(lines(Some(2), None, Some(Fault::LineAloneIsOne)), "b\r\n");
        assert_eq!(lines(None, Some(1), Some(Fault::LimitIgnored)), "a\nb\r\nc\nd");
    }
}
