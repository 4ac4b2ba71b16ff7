//! Sessions over HTTP or WebSocket: a gateway before an agent that serves, or a bridge to or from standard streams.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::Sender;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::bridge;
use super::tap::{Sight, Tap};
use crate::requirement::{Party, Transport};
use crate::trace::{HttpEvent, ProcessEvent};
use crate::transport::between::Between;
use crate::transport::dial::Server;
use crate::transport::endpoint::Endpoint;
use crate::transport::gateway::{Gateway, Passage};
use crate::transport::process::Launch;
use crate::transport::signal::StopRequests;

/// The most observations that wait for the tap.
const BACKLOG: usize = 64;

/// The way of the messages between clients and an agent.
pub enum Route {
    /// Clients dial here, and an agent serves there.
    Gateway(Place, Server),
    /// Clients dial here; each connection starts an agent on standard streams.
    Served(Place, Launch),
    /// A process between the two has the streams of the client, and an agent serves there.
    Dialed(Server, Between),
}

/// Where clients dial, on the loopback address.
pub struct Place {
    /// What carries the messages.
    pub transport: Transport,
    /// The port; 0 for a free one.
    pub port: u16,
    /// The path of the URL.
    pub path: String,
}

/// A route that is open.
pub struct Network {
    runtime: Runtime,
    stops: StopRequests,
    way: Way,
}

enum Way {
    Gateway(Gateway),
    Served(Endpoint, Launch),
    Dialed(Server, Between),
}

impl Network {
    /// Opens a route. From now on, Ctrl-C and SIGTERM end only the sessions. Returns it with the URL for clients, if
    /// they dial.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, for example a port in use.
    pub fn open(route: Route) -> io::Result<(Self, Option<String>)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stops = {
            let _context = runtime.enter();
            StopRequests::listen()
        };
        let (way, url) = match route {
            Route::Gateway(Place { transport, port, path }, server) => {
                let scheme = if transport == Transport::WebSocket { "ws" } else { "http" };
                let gateway = runtime.block_on(Gateway::open(port, path.clone(), server))?;
                let url = format!("{scheme}://{}{path}", gateway.address()?);
                (Way::Gateway(gateway), Some(url))
            }
            Route::Served(Place { transport, port, path }, launch) => {
                let endpoint = runtime.block_on(Endpoint::open_at(transport, port, path))?;
                let url = endpoint.url()?;
                (Way::Served(endpoint, launch), Some(url))
            }
            Route::Dialed(server, between) => (Way::Dialed(server, between), None),
        };
        Ok((Self { runtime, stops, way }, url))
    }

    /// Passes messages on until the session is over or a signal ends it, and notes them in the tap.
    pub(super) fn carry(self, tap: &Tap, trouble: &Sender<String>, unreached: &dyn Fn(&str)) {
        let Self { runtime, mut stops, way } = self;
        let (mut said, mut senders) = (BTreeSet::new(), BTreeSet::new());
        let mut note = |(connection, sight)| {
            if let Sight::Bytes(party, _) | Sight::Message(party, ..) = &sight {
                senders.insert(*party);
            }
            if let Sight::Http(HttpEvent::Failed { why, .. }) | Sight::Process(ProcessEvent::NotSpawned(why)) = &sight
                && said.insert(why.clone())
            {
                unreached(why);
            }
            tap.note(connection, sight, trouble);
            tap.wake();
        };
        runtime.block_on(async {
            let (sights, mut seen) = mpsc::channel(BACKLOG);
            match way {
                Way::Gateway(gateway) => drop(tokio::spawn(pass(gateway, sights))),
                Way::Served(endpoint, launch) => drop(tokio::spawn(bridge::serve(endpoint, launch, sights))),
                Way::Dialed(server, between) => drop(tokio::spawn(bridge::dial(server, between, sights))),
            }
            loop {
                tokio::select! {
                    biased;
                    sight = seen.recv() => match sight {
                        Some(sight) => note(sight),
                        None => return,
                    },
                    () = stops.next() => break,
                }
            }
            // What was passed on before belongs to the record.
            seen.close();
            while let Some(sight) = seen.recv().await {
                note(sight);
            }
        });
        if said.is_empty() && senders.iter().eq(&[Party::Client]) {
            unreached("it sent no message before the end of the session");
        }
        // A read or write of a file cannot be ended.
        runtime.shutdown_background();
    }
}

/// Notes what passes a gateway.
async fn pass(gateway: Gateway, sights: mpsc::Sender<(usize, Sight)>) {
    let (sender, mut passages) = mpsc::channel(1);
    let note = async {
        while let Some((connection, passage)) = passages.recv().await {
            let sight = match passage {
                Passage::Http(event) => Sight::Http(event),
                Passage::Ended(party) => Sight::Ended(party),
                Passage::Message { exchange, from, mut bytes } => {
                    bytes.push(b'\n');
                    Sight::Message(from, exchange, bytes)
                }
            };
            if sights.send((connection, sight)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = note => {}
        () = gateway.serve(sender) => {}
    }
}
