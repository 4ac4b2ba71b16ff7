//! Faults in the use of MCP servers: the agent gets servers other than those that the client named.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use crate::message::opens_session;

/// Lets the handshake through, and then closes the server's input.
const GREET: &str = r#"sed -u 2q | "$0" "$@""#;

fn edit_servers(message: &mut Value, edit: impl FnOnce(&mut Vec<Value>)) {
    if opens_session(message)
        && let Some(servers) = message.pointer_mut("/params/mcpServers").and_then(Value::as_array_mut)
    {
        edit(servers);
    }
}

/// Changes every server that is a process.
fn edit_processes(message: &mut Value, edit: fn(&mut Value)) {
    edit_servers(message, |servers| {
        servers.iter_mut().filter(|server| server.get("command").is_some()).for_each(edit);
    });
}

pub(super) fn join_args(message: &mut Value) {
    edit_processes(message, |server| {
        let words = [vec![server["command"].clone()], words(&server["args"])].concat();
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        server["args"] = json!(["-c", words.join(" ")]);
        server["command"] = "/bin/sh".into();
    });
}

pub(super) fn only_greet(message: &mut Value) {
    edit_processes(message, |server| {
        let command = vec![json!("-c"), json!(GREET), server["command"].clone()];
        server["args"] = [command, words(&server["args"])].concat().into();
        server["command"] = "/bin/sh".into();
    });
}

fn words(args: &Value) -> Vec<Value> {
    args.as_array().cloned().unwrap_or_default()
}

pub(super) fn send_headers_once(message: &mut Value) {
    edit_servers(message, |servers| {
        for server in servers.iter_mut().filter(|server| server["type"] == "http") {
            let url = server["url"].as_str().unwrap_or_default();
            let Some((host, path)) = url.strip_prefix("http://").and_then(|url| url.split_once('/')) else { continue };
            let names =
                words(&server["headers"]).iter().filter_map(|header| header["name"].as_str()).map(name).collect();
            if let Ok(proxy) = start_proxy(host.to_owned(), names) {
                server["url"] = format!("http://{proxy}/{path}").into();
            }
        }
    });
}

fn name(name: &str) -> String {
    format!("{}:", name.to_ascii_lowercase())
}

/// Starts a proxy that drops these headers from every request but the first, and returns its address.
fn start_proxy(host: String, names: Vec<String>) -> io::Result<std::net::SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for (index, client) in listener.incoming().flatten().enumerate() {
            let dropped = if index == 0 { Vec::new() } else { names.clone() };
            let host = host.clone();
            // A failed connection appears to the agent as a failure of the server.
            thread::spawn(move || forward(client, &host, &dropped));
        }
    });
    Ok(address)
}

/// Forwards one request without these headers, and everything after its head in both directions.
fn forward(mut client: TcpStream, host: &str, dropped: &[String]) -> io::Result<()> {
    let mut server = TcpStream::connect(host)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    for line in String::from_utf8_lossy(&head).split_inclusive("\r\n") {
        let lower = line.to_ascii_lowercase();
        match lower.starts_with("host:") {
            true => write!(server, "host: {host}\r\n")?,
            false if dropped.iter().any(|name| lower.starts_with(name)) => {}
            false => server.write_all(line.as_bytes())?,
        }
    }
    let (mut to_client, mut from_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    io::copy(&mut client, &mut server)?;
    server.shutdown(Shutdown::Write)
}
