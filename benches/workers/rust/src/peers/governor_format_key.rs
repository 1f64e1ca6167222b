//! governor, with each key made at its hit, as a service does that limits by user number.

use super::governor;
use crate::job::Job;
use crate::peer::{Answered, Peer, Session};

pub struct FormatKey(governor::Keyed);

/// A key that ends in a number.
pub struct Numbered {
    prefix: String,
    number: u64,
    digits: usize,
}

pub struct Formatting(<governor::Keyed as Peer>::Session);

impl Peer for FormatKey {
    type Key = Numbered;
    type Session = Formatting;

    fn version() -> String {
        governor::Keyed::version()
    }

    fn open(job: &Job) -> Answered<Self> {
        governor::Keyed::open(job).map(Self)
    }

    fn key(text: &str) -> Answered<Numbered> {
        let prefix = text.trim_end_matches(|end: char| end.is_ascii_digit());
        let number = &text[prefix.len()..];
        Ok(Numbered {
            prefix: prefix.to_owned(),
            digits: number.len(),
            number: number.parse().map_err(|_| "the keys of this peer must end in a number")?,
        })
    }

    fn session(&self) -> Answered<Formatting> {
        self.0.session().map(Formatting)
    }
}

impl Session<Numbered> for Formatting {
    fn hitter(&mut self) -> Answered<impl FnMut(&Numbered) -> Answered<bool>> {
        let mut hit = self.0.hitter()?;
        Ok(move |Numbered { prefix, number, digits }: &Numbered| {
            hit(&format!("{prefix}{number:0digits$}"))
        })
    }

    fn prune(&mut self) -> Answered<u64> {
        self.0.prune()
    }
}
