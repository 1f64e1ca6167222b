//! What a limiter must offer to be measured. The loop is compiled for each peer by itself: none pays
//! for a call through a pointer that another does not.

use crate::job::Job;

pub type Answered<T> = Result<T, String>;

/// A limiter as one process has it.
pub trait Peer: Sized {
    type Key: Sync;
    type Session: Session<Self::Key>;

    fn open(job: &Job) -> Answered<Self>;

    /// Outside the loop: what a caller has in hand when it hits.
    fn key(text: &str) -> Answered<Self::Key>;

    /// What it is, as people write it: `governor 0.10.4`.
    fn version(&self) -> String;

    fn session(&self) -> Answered<Self::Session>;
}

/// What one thread holds of it.
pub trait Session<Key>: Send {
    /// Prepares what hits have in common, and gives what makes one hit: allowed or not.
    fn hitter(&mut self) -> Answered<impl FnMut(&Key) -> Answered<bool>>;

    /// Removes expired rows, and says how many.
    fn prune(&mut self) -> Answered<u64>;
}
