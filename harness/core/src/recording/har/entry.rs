//! The members of one entry, with the place of what cannot be read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::recording::problem::RecordingProblem;
use crate::trace::CONNECTION_ID;

/// One entry of a HAR: a request with its response, or a WebSocket.
pub(super) struct Entry<'h> {
    /// Its number in the file, from 1.
    number: usize,
    value: &'h Value,
    pub method: String,
    pub url: String,
    /// The headers of the request, with their names in lower case.
    pub asked: Vec<(String, String)>,
    /// The headers of the response.
    pub answered: Vec<(String, String)>,
}

/// What a user does about an entry that cannot be read.
pub(super) const EXPORT_AGAIN: &str = "Export the HAR again, and do not edit it.";

/// The words that tools put in the place of removed values.
const REMOVED: [&str; 3] = ["redacted", "[removed]", "[filtered]"];

/// Returns the value of a header.
pub(super) fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether a tool replaced the text.
pub(super) fn is_removed(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    REMOVED.iter().any(|word| text.contains(word))
}

impl<'h> Entry<'h> {
    /// Reads the members that every entry has.
    pub(super) fn new(number: usize, value: &'h Value) -> Result<Self, RecordingProblem> {
        let mut entry =
            Self { number, value, method: String::new(), url: String::new(), asked: Vec::new(), answered: Vec::new() };
        entry.method = entry.required("/request/method")?.to_ascii_uppercase();
        entry.url = entry.required("/request/url")?.to_owned();
        entry.asked = entry.headers("/request/headers")?;
        entry.answered = entry.headers("/response/headers")?;
        Ok(entry)
    }

    /// Returns a problem at this JSON pointer into the entry.
    pub(super) fn problem(&self, at: &str, what: &str, remedy: &str) -> RecordingProblem {
        RecordingProblem::of_all(format!("entry {}, at {at}: {what}", self.number), remedy)
    }

    fn get(&self, at: &str) -> Option<&'h Value> {
        self.value.pointer(at).filter(|value| !value.is_null())
    }

    fn required(&self, at: &str) -> Result<&'h str, RecordingProblem> {
        self.text(at)?.ok_or_else(|| self.problem(at, "it is missing", EXPORT_AGAIN))
    }

    pub(super) fn text(&self, at: &str) -> Result<Option<&'h str>, RecordingProblem> {
        let Some(value) = self.get(at) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.problem(at, "expected a text", EXPORT_AGAIN))
    }

    pub(super) fn number(&self, at: &str) -> Result<Option<f64>, RecordingProblem> {
        let Some(value) = self.get(at) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.problem(at, "expected a number", EXPORT_AGAIN))
    }

    /// Returns the members of a list, each with its pointer; `None` if the list is not there.
    pub(super) fn list(&self, at: &str) -> Result<Option<impl Iterator<Item = String>>, RecordingProblem> {
        let Some(value) = self.get(at) else { return Ok(None) };
        let list = value.as_array().ok_or_else(|| self.problem(at, "expected a list", EXPORT_AGAIN))?;
        let at = at.to_owned();
        Ok(Some((0..list.len()).map(move |index| format!("{at}/{index}"))))
    }

    fn headers(&self, at: &str) -> Result<Vec<(String, String)>, RecordingProblem> {
        let mut headers = Vec::new();
        for place in self.list(at)?.into_iter().flatten() {
            let name = self.required(&format!("{place}/name"))?.to_ascii_lowercase();
            let at_value = format!("{place}/value");
            let value = self.text(&at_value)?.unwrap_or_default();
            if name == CONNECTION_ID && is_removed(value) {
                let remedy = "Export the HAR without this header being removed; it names a connection.";
                return Err(self.problem(&at_value, "the Acp-Connection-Id was removed", remedy));
            }
            // Some tools join the values of several headers by line feeds.
            headers.extend(value.split('\n').map(|value| (name.clone(), value.to_owned())));
        }
        Ok(headers)
    }

    /// Returns a text that may be in base64, as bytes; `encoding` names the member that says so.
    pub(super) fn bytes(&self, at: &str, encoding: &str) -> Result<Option<Vec<u8>>, RecordingProblem> {
        let Some(text) = self.text(at)? else { return Ok(None) };
        match self.text(encoding)? {
            Some("base64") => {
                let decoded = STANDARD.decode(text).map_err(|error| {
                    self.problem(at, &format!("this is not base64, as `encoding` says: {error}"), EXPORT_AGAIN)
                })?;
                Ok(Some(decoded))
            }
            _ => Ok(Some(text.as_bytes().to_vec())),
        }
    }

    /// Returns the time of the request, in microseconds since 1970.
    pub(super) fn started(&self) -> Result<i64, RecordingProblem> {
        const AT: &str = "/startedDateTime";
        let text = self.required(AT)?;
        let utc = |civil: DateTime| civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
        let time = text.parse::<Timestamp>().ok().or_else(|| utc(text.parse().ok()?));
        let time = time.ok_or_else(|| self.problem(AT, &format!("`{text}` is not a time"), EXPORT_AGAIN))?;
        Ok(time.as_microsecond())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Entry;

    #[test]
    fn malformed_members_are_reported_with_their_place() {
        let value = json!({ "request": { "method": "GET", "url": 5 } });
        let problem = Entry::new(3, &value).err().map(|problem| problem.what);
        assert_eq!(problem.as_deref(), Some("entry 3, at /request/url: expected a text"));
    }

    #[test]
    fn times_with_and_without_an_offset_are_read() {
        let at = |time: &str| {
            let value = json!({ "startedDateTime": time, "request": { "method": "GET", "url": "http://h/" } });
            Entry::new(1, &value).and_then(|entry| entry.started()).ok()
        };
        assert_eq!(at("1970-01-01T01:00:00.5+01:00"), Some(500_000));
        assert_eq!(at("1970-01-01T00:00:00.000001Z"), Some(1));
        assert_eq!(at("1970-01-01T00:00:01"), Some(1_000_000));
        assert_eq!(at("yesterday"), None);
    }
}
