//! Tells the server of many clients at once whose denials are remembered.

use std::iter::repeat;
use std::sync::Arc;
use std::time::Instant;

use super::RedisStore;
use super::ask::Reply;
use super::client::integers;
use super::denied::{Id, ToTell, Untold};
use super::failure::Fault;
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
    /// As it was before.
    given_back: u64,
}

impl RedisStore {
    /// Tells a server that has just answered, in one go, what others have attempted whose turn is near, and
    /// learns how they stand. What cannot be told is kept for the next of their hits, which sees why.
    pub(super) fn tell_of_others(&self, server: &Arc<Server>) {
        let (memory, sent) = (&self.client.memory, Instant::now());
        let Some(mut denied) = memory.lock() else { return };
        let due = denied.nearly_due(server, MOST_TOLD, sent, self.options.flush_interval);
        drop(denied);
        if !due.is_empty() {
            self.tell(server, due);
        }
    }

    /// A limiter is closed: tells all that is untold, for as long as a command may take.
    pub(super) fn tell_of_all(&self) {
        let (memory, begun) = (&self.client.memory, Instant::now());
        let interval = self.options.flush_interval;
        if !memory.lock().is_some_and(|mut denied| denied.is_end_due(begun, interval)) {
            return;
        }
        while begun.elapsed() < self.client.timeouts.command {
            let untold = memory.lock().and_then(|mut denied| denied.any_untold(MOST_TOLD));
            let Some((server, untold)) = untold else { return };
            if !self.tell(&server, untold) {
                return;
            }
        }
    }

    /// Whether the server answered.
    fn tell(&self, server: &Arc<Server>, untold: ToTell) -> bool {
        let (memory, sent) = (&self.client.memory, Instant::now());
        let told = untold.into_iter().filter_map(|(id, untold)| {
            let scheme = self.client.scheme(id.scheme)?;
            let given_back = memory.given_back(scheme.place(&id.client));
            Some(Told { id, untold, scheme, given_back })
        });
        let told: Vec<_> = told.collect();
        let calls: Vec<_> = told.iter().map(Told::call).collect();
        let answers = self.client.run_all(&server.endpoint, &calls);
        let (received, is_answered) = (Instant::now(), answers.is_ok());
        let mut answers = match answers {
            Ok(answers) => answers.into_iter().map(integers).collect(),
            Err(fault) => vec![Err(fault); told.len()],
        }
        .into_iter();
        let Some(mut denied) = memory.lock() else { return is_answered };
        for Told { id, untold, scheme, given_back } in told {
            let answer = answers.next().unwrap_or(Err(Fault::Senseless));
            match answer.and_then(|numbers| scheme.read(&numbers)) {
                Ok(Said::Counted(now, counters)) => {
                    if memory.given_back(scheme.place(&id.client)) != given_back {
                        denied.forget_answer(&id);
                        continue;
                    }
                    let server = Arc::clone(server);
                    let mut reply = Reply { now, counters, sent, received, server };
                    reply.add(untold, &scheme);
                    denied.remember(id, reply.seen(&scheme, false));
                }
                Ok(Said::OtherMonth(_)) => denied.not_told(&id, untold),
                Err(fault) => denied.failed(&id, untold, &fault),
            }
        }
        is_answered
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
