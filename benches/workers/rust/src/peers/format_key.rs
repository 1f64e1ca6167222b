//! A peer, with each key made at its hit, as a service does that limits by user number.

use std::fmt::Write;

use crate::job::Job;
use crate::peer::{Answered, Peer, Session};

pub struct FormatKey<P>(P);

pub struct Formatting<S>(S);

impl<P: Peer<Key = String>> Peer for FormatKey<P> {
    type Key = u64;
    type Session = Formatting<P::Session>;

    fn open(job: &Job) -> Answered<Self> {
        P::open(job).map(Self)
    }

    fn key(text: &str) -> Answered<u64> {
        let number = text.trim_start_matches(|start: char| !start.is_ascii_digit());
        number.parse().map_err(|_| "the keys of this peer must end in a number".to_owned())
    }

    fn version(&self) -> String {
        self.0.version()
    }

    fn session(&self) -> Answered<Self::Session> {
        self.0.session().map(Formatting)
    }
}

impl<S: Session<String>> Session<u64> for Formatting<S> {
    /// In one buffer again and again: a limiter that wants keys of its own need not allocate them.
    fn hitter(&mut self) -> Answered<impl FnMut(&u64) -> Answered<bool>> {
        let mut hit = self.0.hitter()?;
        let mut key = String::new();
        Ok(move |number: &u64| {
            key.clear();
            // Writing to a String cannot fail.
            let _ = write!(key, "client{number:010}");
            hit(&key)
        })
    }

    fn prune(&mut self) -> Answered<u64> {
        self.0.prune()
    }
}
