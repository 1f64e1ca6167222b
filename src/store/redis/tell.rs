//! Tells the server of many clients at once whose denials are remembered.

use std::iter::repeat;
use std::sync::Arc;
use std::time::Instant;

use super::RedisStore;
use super::ask::Reply;
use super::client::integers;
use super::denied::{Id, Untold};
use super::scheme::{Said, Scheme, Sent};
use super::slot;
use crate::clock;

/// Of how many clients at most: the server takes half a millisecond.
const MOST_TOLD: usize = 64;

/// A client, and what is told of it.
struct Told {
    id: Id,
    untold: Untold,
    scheme: Arc<Scheme>,
    key: Vec<u8>,
}

impl RedisStore {
    /// Tells, in one go, what others have attempted whose turn is near, and learns how they stand. What
    /// cannot be told now is kept; whoever of them asks next sees why.
    pub(super) fn tell_of_others(&self) {
        let sent = Instant::now();
        let interval = self.options.flush_interval;
        let due = self.client.memory.lock().nearly_due(MOST_TOLD, sent, interval);
        let told = due.into_iter().filter_map(|(id, untold)| {
            let scheme = self.client.scheme(id.scheme)?;
            Some(Told { id, untold, key: scheme.key(&id.client), scheme })
        });
        let told: Vec<_> = told.collect();
        let Some(first) = told.first() else { return };
        let Some(server) = self.client.known_server(slot::of(&first.key)) else {
            return self.keep(&told);
        };
        let is_there =
            |it: &Told| self.client.known_server(slot::of(&it.key)) == Some(server.clone());
        let (told, elsewhere): (Vec<_>, Vec<_>) = told.into_iter().partition(is_there);
        self.keep(&elsewhere);
        let calls: Vec<_> = told.iter().map(|it| self.call(it)).collect();
        let answers = match self.client.run_all(&server, &calls) {
            Ok(answers) => answers,
            Err(fault) => {
                if !fault.may_have_run() {
                    self.keep(&told);
                }
                return;
            }
        };
        let received = Instant::now();
        for (it, answer) in told.into_iter().zip(answers) {
            match integers(answer).map(|numbers| it.scheme.read(&numbers)) {
                Ok(Said::Counted(now, counters)) => {
                    let mut reply = Reply { now, counters, sent, received };
                    reply.add(it.untold, &it.scheme);
                    let seen = reply.seen(&it.scheme, false);
                    self.client.memory.lock().remember(it.id, seen);
                }
                _ => self.keep(&[it]),
            }
        }
    }

    fn keep(&self, told: &[Told]) {
        let mut denied = self.client.memory.lock();
        for it in told {
            denied.not_told(&it.id, it.untold);
        }
    }

    /// A hit that costs nothing, so that nothing but the attempts is counted.
    fn call(&self, told: &Told) -> Vec<u8> {
        let keeps_past_windows = !self.options.auto_prune;
        let guess = clock::now().ok();
        let sent = Sent { given: None, guess, units: 0, untold: told.untold, keeps_past_windows };
        told.scheme.scripts.hit.by_hash(&told.key, &told.scheme.arguments(&sent, repeat(0)))
    }
}
