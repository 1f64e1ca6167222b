//! All that there is between two steps: the table, SQLite, the processes; and ghosts, which no step
//! looks at.

use std::fmt;

pub const SLOTS: usize = 2;
pub const KEYS: u8 = 2;
pub const STARTS: u8 = 3;
pub const IDENTITIES: usize = (KEYS * STARTS) as usize;
pub const PROCESSES: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Count {
    pub attempts: u8,
    pub admitted: u8,
}

pub const NOTHING: Count = Count { attempts: 0, admitted: 0 };

/// The 128 bits of `state` and of `mark`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Word {
    pub tag: u8,
    pub count: Count,
}

impl Word {
    pub fn is_live(self) -> bool {
        self.tag & 1 == 1
    }
}

/// A window is of length 1 and begins at `start`, from 1 on; keys are 1 and 2. Two windows of two
/// keys, half written over each other, read like the other two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    pub start: u8,
    pub key: u8,
}

impl Identity {
    /// `None` for what a slot holds before its first life is written out.
    pub fn index(self) -> Option<usize> {
        let is_whole = (1..=STARTS).contains(&self.start) && (1..=KEYS).contains(&self.key);
        is_whole.then(|| ((self.start - 1) * KEYS + self.key - 1) as usize)
    }

    pub fn at(index: usize) -> Self {
        let index = index as u8;
        Self { start: index / KEYS + 1, key: index % KEYS + 1 }
    }

    /// The end of the window that follows.
    pub fn expires(self) -> u8 {
        self.start + 2
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Slot {
    pub state: Word,
    pub identity: Identity,
    pub mark: Word,
    /// Ghost: what processes changed here and died before they announced it.
    pub orphans: u8,
}

/// What a process does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pc {
    #[default]
    Done,
    Dead,
    /// Between two calls.
    Idle,

    FindState,
    FindIdentity,
    LookAtBit,
    Count,
    LookAtIdentity,
    Announce,
    Undo,
    AnnounceUndo,

    Lock,
    Choose,
    ReadMarkHigh,
    ReadMarkLow,
    ReadMarkAgain,
    RaiseSpill,
    Leave,
    ReadRow,
    StoreIdentity,
    StoreMark,
    Publish,
    AnnounceClaim,

    Elect,
    ClearBits,
    FlagRound,
    RestoreBits,
    EndRound,

    BeginTransaction,
    ReadState,
    ReadIdentity,
    ClearBitsLate,
    Commit,
    Mark,

    ResetSlots,
    AnnounceReset,

    RaisePrunedUntil,
    FindExpired,
    RaiseSpillOfExpired,
    FreeExpired,
    DeleteRows,
    RaisePrunedUntilLate,
}

/// A limit's slot, and the life it was found in; a tag of 0 is none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Held {
    pub slot: u8,
    pub tag: u8,
}

/// A process, with what it remembers from step to step. What is needed no more is zeroed, so that
/// equal futures are equal states.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Process {
    pub pc: Pc,
    /// Index of its call.
    pub call: u8,
    /// What it looks for.
    pub sought: Identity,
    pub slot: u8,
    pub seen: Word,
    pub row: Count,
    /// Halves or slots that are still to be done.
    pub todo: u8,
    pub halves: u8,
    pub is_counted: bool,
    /// Whether the slot that it chose has expired; whether the bit was set; whether there was a round
    /// under way.
    pub is_drop: bool,
    pub saw_bit: bool,
    pub saw_round: bool,

    /// Which of its limits it is at, and in which way; what it has reserved, and where.
    pub turn: u8,
    pub reserved: bool,
    pub held: Held,
    /// Whether it begins anew when it has taken that back.
    pub is_again: bool,

    /// Slots of a transaction that are still to be read; those that it writes; and what.
    pub scope: u8,
    pub written: u8,
    pub buffer: [Word; SLOTS],
    pub names: [u8; SLOTS],
    /// Slots whose bits it has cleared.
    pub taken: u8,

    /// Ghost: attempts that a status may report; counters that nobody touched during a prune.
    pub ghost: u8,
}

/// What only the promises know.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// What was counted since the last reset.
    pub counted: [Count; IDENTITIES],
    /// What nothing may forget: what was counted since the last prune, too.
    pub owed: [Count; IDENTITIES],
    /// Counters that expired and were dropped unwritten, or whose rows hits removed.
    pub dropped: u8,
    /// Counters whose row a prune took while somebody held the stripe.
    pub excused: u8,
    /// Counters that the last step has counted in. No part of the state.
    pub touched: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    StatusOfNoMoment,
    PrunedCounterStays,
    DurableHitNotInSqlite,
    CountedTwice,
    UndoMissed,
}

/// A holder is a process number and one; 0 is nobody.
pub type Holder = u8;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    pub clock: u8,
    pub slots: [Slot; SLOTS],
    pub bits: u8,
    pub spill: u8,
    pub pruned_until: u8,
    pub round_under_way: bool,
    pub stripe: Holder,
    pub flusher: Holder,
    pub sqlite: Holder,
    /// Committed; zero is no row.
    pub rows: [Count; IDENTITIES],
    pub deaths_left: u8,
    pub failures_left: u8,
    pub processes: [Process; PROCESSES],
    pub ghost: Ghost,
    pub fault: Option<Fault>,
}

impl State {
    pub fn live_slot(&self, identity: Identity) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.state.is_live() && slot.identity == identity)
    }

    /// What a counter stands at: its slot is the only authority; without one its row is.
    pub fn standing(&self, index: usize) -> Count {
        match self.live_slot(Identity::at(index)) {
            Some(slot) => slot.state.count,
            None => self.rows[index],
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.attempts, self.admitted)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {}", self.tag, self.count)
    }
}

/// Key `a` in the window that begins at 2 is `a2`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", ["-", "a", "b"][self.key as usize], self.start)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clock {} spill {}", self.clock, self.spill)?;
        if self.pruned_until > 0 {
            write!(f, " pruned until {}", self.pruned_until)?;
        }
        for (index, slot) in self.slots.iter().enumerate() {
            if *slot != Slot::default() {
                let bit = if self.bits >> index & 1 == 1 { " announced" } else { "" };
                write!(f, " | {} [{}] mark [{}]{bit}", slot.identity, slot.state, slot.mark)?;
            }
        }
        for (index, row) in self.rows.iter().enumerate().filter(|(_, row)| **row != NOTHING) {
            write!(f, " | row {} {row}", Identity::at(index))?;
        }
        Ok(())
    }
}
