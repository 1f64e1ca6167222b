//! The case files, on a server: the same answers as from a file.

use ratelite::Options;

use super::server::Server;
use super::support::cases::{cases, open, run};

/// All on one server, each under a prefix of its own.
fn all_pass(server: &Server, set: impl Fn(&mut Options) + Copy, reopen: bool) {
    for (number, case) in cases("semantics.json").as_array().unwrap().iter().enumerate() {
        let store = format!("{}?prefix=case{number}", server.url());
        run(case, &|| open(&store, case, set), reopen);
    }
}

#[test]
fn every_case_is_answered_as_expected_on_a_server() {
    all_pass(&Server::start(), |_| {}, false);
}

/// Each step by a connection of its own.
#[test]
fn every_case_is_answered_as_expected_when_each_step_connects_anew() {
    all_pass(&Server::start(), |options| options.keep_open = false, true);
}

#[test]
fn every_case_is_answered_as_expected_where_denials_are_remembered() {
    let remember = |options: &mut Options| {
        options.remember_denied = true;
        options.flush_interval = std::time::Duration::from_secs(60);
    };
    all_pass(&Server::start(), remember, false);
}

#[test]
fn every_case_is_answered_as_expected_through_a_socket() {
    let server = Server::start();
    for (number, case) in cases("semantics.json").as_array().unwrap().iter().enumerate() {
        let socket = server.socket();
        let store = format!("redis+unix://{}?prefix=case{number}", socket.display());
        run(case, &|| open(&store, case, |_| {}), false);
    }
}
