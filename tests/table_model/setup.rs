//! What is explored: who does what, in how large a table, and what may happen to them.

use super::state::{
    Count, Ghost, IDENTITIES, Identity, NOTHING, PROCESSES, Pc, Process, SLOTS, Slot, State,
};

pub const A: u8 = 1;
pub const B: u8 = 2;

/// The time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    At(u8),
    /// Read when the call begins, and again whenever it begins anew.
    Clock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Hit(u8, When),
    /// Answered when SQLite has it.
    DurableHit(u8, When),
    /// Under the limits of both keys, this one's first.
    HitBoth(u8, When),
    Refund(u8, When),
    Status(u8, When),
    Reset(u8),
    /// With a time that is taken literally.
    Prune(u8),
    /// What hits remove of rows that are past by the clock.
    Sweep,
    /// A flusher's round.
    Flush,
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub slots: usize,
    /// N of either key.
    pub limits: [u8; 2],
    /// Where attempts end.
    pub most: u8,
    pub processes: Vec<Vec<Call>>,
    /// How many processes may die, each at any step.
    pub deaths: u8,
    /// How many commits may fail.
    pub failures: u8,
    /// The times of the clock, in order.
    pub times: Vec<u8>,
    pub auto_prune: bool,
    /// Rows from before the table was made.
    pub rows: Vec<(Identity, Count)>,
    /// How many low bits of attempts share a half with admitted.
    pub low_bits: u8,
    /// A tag is taken modulo this and one.
    pub tag_mask: u8,
    /// Whether each process, left alone, must come to an end.
    pub alone: bool,
    /// Whether a refusal must always be able to take back what was reserved.
    pub no_undo_missed: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            slots: 1,
            limits: [1, 1],
            most: 7,
            processes: Vec::new(),
            deaths: 0,
            failures: 0,
            times: vec![1],
            auto_prune: false,
            rows: Vec::new(),
            low_bits: 3,
            tag_mask: u8::MAX,
            alone: false,
            no_undo_missed: false,
        }
    }
}

impl Setup {
    /// One slot, and who calls what in it.
    pub fn of(processes: &[&[Call]]) -> Self {
        let processes = processes.iter().map(|calls| calls.to_vec()).collect();
        Self { processes, ..Self::default() }
    }

    pub fn with_row(mut self, start: u8, key: u8, (attempts, admitted): (u8, u8)) -> Self {
        self.rows.push((Identity { start, key }, Count { attempts, admitted }));
        self
    }

    pub fn first_state(&self) -> State {
        let mut processes = [Process::default(); PROCESSES];
        for process in &mut processes[..self.processes.len()] {
            process.pc = Pc::Idle;
        }
        let mut rows = [NOTHING; IDENTITIES];
        for (identity, count) in &self.rows {
            rows[identity.index().expect("an identity")] = *count;
        }
        let ghost = Ghost { counted: rows, owed: rows, ..Ghost::default() };
        State {
            clock: self.times[0],
            slots: [Slot::default(); SLOTS],
            bits: 0,
            spill: 0,
            pruned_until: 0,
            round_under_way: false,
            stripe: 0,
            flusher: 0,
            sqlite: 0,
            rows,
            deaths_left: self.deaths,
            failures_left: self.failures,
            processes,
            ghost,
            fault: None,
        }
    }

    /// The latest start of a row from before the table.
    pub fn first_start(&self) -> u8 {
        self.rows.iter().map(|(identity, _)| identity.start).max().unwrap_or(0)
    }

    /// Whether admissions since the beginning stay below N: nothing gives back or forgets what is not
    /// over by every process's time.
    pub fn is_strict(&self) -> bool {
        self.processes.iter().flatten().all(|call| match call {
            Call::Hit(_, when) | Call::DurableHit(_, when) | Call::HitBoth(_, when) => {
                !self.auto_prune || *when == When::Clock
            }
            Call::Status(..) | Call::Flush | Call::Sweep => true,
            Call::Refund(..) | Call::Reset(_) | Call::Prune(_) => false,
        })
    }

    pub fn has_reset(&self) -> bool {
        self.processes.iter().flatten().any(|call| matches!(call, Call::Reset(_)))
    }
}
