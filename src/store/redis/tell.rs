//! Tells the server of many clients at once whose denials are remembered.

use std::iter::repeat;
use std::sync::Arc;
use std::time::Instant;

use super::RedisStore;
use super::ask::Reply;
use super::client::integers;
use super::denied::{Id, Untold};
use super::lane::Server;
use super::scheme::{Said, Scheme, Sent};
use crate::clock;

/// Of how many clients at most: the server takes half a millisecond.
const MOST_TOLD: usize = 64;

/// A client, and what is told of it.
struct Told {
    id: Id,
    untold: Untold,
    scheme: Arc<Scheme>,
}

impl RedisStore {
    /// Tells a server that has just answered, in one go, what others have attempted whose turn is near, and
    /// learns how they stand. What cannot be told is kept for the next of their hits, which sees why.
    pub(super) fn tell_of_others(&self, server: &Arc<Server>) {
        let (memory, sent) = (&self.client.memory, Instant::now());
        let Some(mut denied) = memory.lock() else { return };
        let (given_back, interval) = (memory.given_back(), self.options.flush_interval);
        let due = denied.nearly_due(server, MOST_TOLD, sent, interval);
        drop(denied);
        let told = due.into_iter().filter_map(|(id, untold)| {
            let scheme = self.client.scheme(id.scheme)?;
            Some(Told { id, untold, scheme })
        });
        let told: Vec<_> = told.collect();
        if told.is_empty() {
            return;
        }
        let calls: Vec<_> = told.iter().map(Told::call).collect();
        let answers = match self.client.run_all(&server.endpoint, &calls) {
            Ok(answers) => answers,
            // They may have been counted.
            Err(fault) if fault.may_have_run() => return,
            Err(_) => Vec::new(),
        };
        let received = Instant::now();
        let mut answers = answers.into_iter();
        let Some(mut denied) = memory.lock() else { return };
        let is_believed = memory.given_back() == given_back;
        for Told { id, untold, scheme } in told {
            let answer = answers.next().and_then(|answer| integers(answer).ok());
            match answer.map(|numbers| scheme.read(&numbers)) {
                Some(Ok(Said::Counted(now, counters))) if is_believed => {
                    let server = Arc::clone(server);
                    let mut reply = Reply { now, counters, sent, received, server };
                    reply.add(untold, &scheme);
                    denied.remember(id, reply.seen(&scheme, false));
                }
                Some(Ok(Said::Counted(..))) => denied.forget_answer(&id),
                _ => denied.not_told(&id, untold),
            }
        }
    }
}

impl Told {
    /// A hit that costs nothing, and to which nothing is granted, so that only the attempts are counted.
    /// Past windows are left to others, who know whether they are to be kept.
    fn call(&self) -> Vec<u8> {
        let (untold, guess) = (self.untold, clock::now().ok());
        let sent = Sent { given: None, guess, units: 0, untold, keeps_past_windows: true };
        let arguments = self.scheme.arguments(&sent, repeat(0));
        self.scheme.scripts.hit.by_hash(&self.scheme.key(&self.id.client), &arguments)
    }
}
