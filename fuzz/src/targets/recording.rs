//! Recordings of other tools: every file is read or refused, and the result does not depend on the pieces in which its
//! bytes come.

use std::io::{self, Cursor, Read};

use acp_conformance::edition::V1;
use acp_conformance::recording::{Format, Input, Recording, RecordingProblem};
use acp_conformance::requirement::Party;
use acp_conformance::trace::{Event, Header};

/// Treats the bytes as a recording in any format; or as those of the agent and those of the client, with a zero byte
/// between them.
pub fn holds(data: &[u8]) {
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        for party in [None, Some(Party::Agent), Some(Party::Client)] {
            if party.is_none() || format == Some(Format::Conductor) {
                same_in_pieces(|piece| Input::Whole(reader(data, piece), format, party));
            }
        }
    }
    let (agent, client) = data.split_at(data.iter().position(|byte| *byte == 0).unwrap_or(data.len()));
    let sides = [(Party::Agent, agent), (Party::Client, client.strip_prefix(b"\0").unwrap_or(client))];
    same_in_pieces(|piece| Input::Sides(sides.iter().map(|(party, bytes)| (*party, reader(bytes, piece))).collect()));
}

fn same_in_pieces(input: impl Fn(usize) -> Input) {
    let whole = read(input(usize::MAX));
    assert_eq!(read(input(7)), whole, "it matters in which pieces it comes");
    if let Ok((_, events, _)) = whole {
        assert!(events.iter().enumerate().all(|(position, event)| event.n == position));
    }
}

/// Returns all events before the first problem.
fn read(input: Input) -> Result<(Header, Vec<Event>, Option<RecordingProblem>), RecordingProblem> {
    let mut recording = Recording::open(input, V1.edition())?;
    let mut events = Vec::new();
    let problem = recording.by_ref().find_map(|event| event.map(|event| events.push(event)).err());
    Ok((recording.header, events, problem))
}

fn reader(bytes: &[u8], piece: usize) -> Box<dyn Read> {
    Box::new(Pieces { from: Cursor::new(bytes.to_vec()), piece })
}

/// Returns at most this many bytes at once.
struct Pieces {
    from: Cursor<Vec<u8>>,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.piece);
        self.from.read(&mut into[..most])
    }
}
