//! Looks at every state that can be reached; or, where they are too many, at those along random ways.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::promises::Complaint;
use super::random::Random;
use super::setup::Call;
use super::state::{Pc, State};
use super::turn::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Step(usize),
    Death(usize),
    Tick,
}

/// What came of looking.
pub enum Verdict {
    Green { states: usize, steps: usize },
    Red { complaint: Complaint, trace: String },
}

/// More than any set-up has: a broken protocol may have no end.
const MOST_STATES: usize = 40_000_000;

const LONGEST_WAY: usize = 10_000;

/// Room for what is made again and again.
#[derive(Default)]
struct Scratch {
    next: Vec<(Move, State)>,
    steps: Vec<State>,
}

impl World {
    fn successors(&self, state: &State, scratch: &mut Scratch) {
        let Scratch { next, steps } = scratch;
        next.clear();
        for who in 0..self.setup.processes.len() {
            let process = &state.processes[who];
            if matches!(process.pc, Pc::Done | Pc::Dead) {
                continue;
            }
            steps.clear();
            self.step(state, who, steps);
            next.extend(steps.iter().map(|after| (Move::Step(who), *after)));
            if state.deaths_left > 0 && self.is_in_a_call(process) {
                next.push((Move::Death(who), self.kill(state, who)));
            }
        }
        if let Some(&clock) = self.setup.times.iter().find(|time| **time > state.clock) {
            next.push((Move::Tick, State { clock, ..*state }));
        }
        for (_, after) in next {
            self.watch_statuses(after);
        }
    }

    /// Notes what a counter stands at while somebody asks for it.
    fn watch_statuses(&self, state: &mut State) {
        for who in 0..self.setup.processes.len() {
            let process = state.processes[who];
            if matches!(self.call_of(who, &process), Some(Call::Status(..))) {
                let index = process.sought.index().filter(|_| self.is_in_a_call(&process));
                let value = index.map(|index| 1 << state.standing(index).attempts);
                state.processes[who].ghost = value.map_or(0, |value| process.ghost | value);
            }
        }
    }

    /// Every state, nearest first: so a trace is as short as it can be.
    pub fn explore(&self) -> Verdict {
        let mut seen = Seen::new(self.setup.first_state());
        let mut layer = vec![(0, self.setup.first_state())];
        let mut scratch = Scratch::default();
        let (mut steps, mut next_layer) = (0, Vec::new());
        while !layer.is_empty() {
            for (parent, state) in layer.drain(..) {
                self.successors(&state, &mut scratch);
                steps += scratch.next.len();
                if let Err(complaint) = self.check_progress(&state, &scratch) {
                    return self.red(complaint, &seen, parent, None);
                }
                for (way, next) in &scratch.next {
                    let new = seen.insert(next, parent);
                    let checked = self
                        .check_step(&state, next)
                        .and_then(|()| if new.is_some() { self.check_state(next) } else { Ok(()) });
                    if let Err(complaint) = checked {
                        return self.red(complaint, &seen, parent, Some((*way, state, *next)));
                    }
                    next_layer.extend(new.map(|index| (index, *next)));
                }
            }
            assert!(seen.hashes.len() < MOST_STATES, "there is no end to it");
            std::mem::swap(&mut layer, &mut next_layer);
        }
        Verdict::Green { states: seen.hashes.len(), steps }
    }

    /// Somebody can go on, unless all are done; and whoever is left alone comes to an end.
    fn check_progress(&self, state: &State, scratch: &Scratch) -> Result<(), Complaint> {
        let goes_on = scratch.next.iter().any(|(way, _)| matches!(way, Move::Step(_)));
        let is_done = |pc: Pc| matches!(pc, Pc::Done | Pc::Dead);
        if !goes_on && !state.processes.iter().all(|process| is_done(process.pc)) {
            return Err("stuck: everybody waits".into());
        }
        if self.setup.alone {
            return (0..self.setup.processes.len())
                .try_for_each(|who| self.check_alone(state, who));
        }
        Ok(())
    }

    fn check_alone(&self, state: &State, who: usize) -> Result<(), Complaint> {
        let mut now = State { failures_left: 0, ..*state };
        let mut steps = Vec::new();
        for _ in 0..150 {
            if !self.is_in_a_call(&now.processes[who]) {
                return Ok(());
            }
            steps.clear();
            self.step(&now, who, &mut steps);
            // None: it waits for a lock.
            let Some(next) = steps.first() else { return Ok(()) };
            now = *next;
        }
        Err(format!("alone: process {who} never comes to an end"))
    }

    /// A random way to the end. Deaths and ticks are rarer than steps.
    pub fn walk(&self, random: &mut Random) -> Verdict {
        let (mut state, mut scratch) = (self.setup.first_state(), Scratch::default());
        let mut way = Vec::new();
        let broken = loop {
            self.successors(&state, &mut scratch);
            if let Err(complaint) = self.check_progress(&state, &scratch) {
                break complaint;
            }
            if scratch.next.is_empty() {
                return Verdict::Green { states: way.len(), steps: way.len() };
            }
            let pick = |random: &mut Random| scratch.next[random.below(scratch.next.len())];
            let mut chosen = pick(random);
            for _ in 0..4 {
                if matches!(chosen.0, Move::Step(_)) {
                    break;
                }
                chosen = pick(random);
            }
            let (what, next) = chosen;
            way.push((what, state, next));
            if way.len() > LONGEST_WAY {
                break "end: there is none".into();
            }
            if let Err(complaint) =
                self.check_step(&state, &next).and_then(|()| self.check_state(&next))
            {
                break complaint;
            }
            state = next;
        };
        let mut trace = String::new();
        way.iter().for_each(|(what, before, after)| self.tell(&mut trace, *what, before, after));
        Verdict::Red { complaint: broken, trace }
    }

    fn red(
        &self,
        complaint: Complaint,
        seen: &Seen,
        last: u32,
        step: Option<(Move, State, State)>,
    ) -> Verdict {
        let mut trace = String::new();
        let (mut state, mut scratch) = (self.setup.first_state(), Scratch::default());
        for hash in seen.way_to(last) {
            self.successors(&state, &mut scratch);
            let mut next = scratch.next.iter();
            let (what, next) = next.find(|(_, next)| hash_of(next) == hash).expect("was a way");
            self.tell(&mut trace, *what, &state, next);
            state = *next;
        }
        if let Some((what, before, after)) = step {
            self.tell(&mut trace, what, &before, &after);
        }
        Verdict::Red { complaint, trace }
    }

    fn tell(&self, trace: &mut String, what: Move, before: &State, after: &State) {
        let what = match what {
            Move::Tick => "the clock moves on".into(),
            Move::Death(who) => format!("{who} dies"),
            Move::Step(who) => {
                let process = &before.processes[who];
                let call = self.call_of(who, process).filter(|_| process.pc == Pc::Idle);
                match call {
                    Some(call) => format!("{who} begins {call:?}"),
                    None => format!("{who} {:?}", process.pc),
                }
            }
        };
        let _ = writeln!(trace, "{what:<32}{after}");
    }
}

/// The states that were met. Of each only a hash is kept: of ten million states, two that agree in
/// 64 bits are a matter of one in 300,000.
struct Seen {
    hashes: Vec<u64>,
    parents: Vec<u32>,
    set: HashSet<u64, BuildHasherDefault<AsItIs>>,
}

impl Seen {
    fn new(first: State) -> Self {
        let hash = hash_of(&first);
        let set = [hash].into_iter().collect();
        Self { hashes: vec![hash], parents: vec![0], set }
    }

    /// Its index, if it is new.
    fn insert(&mut self, state: &State, parent: u32) -> Option<u32> {
        let hash = hash_of(state);
        if !self.set.insert(hash) {
            return None;
        }
        self.hashes.push(hash);
        self.parents.push(parent);
        Some((self.hashes.len() - 1) as u32)
    }

    /// The hashes on the way, without that of the first state.
    fn way_to(&self, last: u32) -> Vec<u64> {
        let mut way = Vec::new();
        let mut at = last as usize;
        while at != 0 {
            way.push(self.hashes[at]);
            at = self.parents[at] as usize;
        }
        way.reverse();
        way
    }
}

fn hash_of(state: &State) -> u64 {
    let mut state = *state;
    state.ghost.touched = 0;
    let mut hasher = Bytes::default();
    state.hash(&mut hasher);
    hasher.finish()
}

/// Hashes what consists of single bytes, eight at a time.
#[derive(Default)]
struct Bytes {
    hash: u64,
    block: u64,
    filled: u32,
}

impl Bytes {
    fn mix(&mut self) {
        self.hash = (self.hash ^ self.block).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.hash ^= self.hash >> 29;
        (self.block, self.filled) = (0, 0);
    }
}

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, byte: u8) {
        self.block = self.block << 8 | u64::from(byte);
        self.filled += 1;
        if self.filled == 8 {
            self.mix();
        }
    }

    /// Which of an enum's variants.
    fn write_isize(&mut self, variant: isize) {
        self.write_u8(variant as u8);
    }

    /// The lengths of arrays, which are always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        let mut last = Self { ..*self };
        last.mix();
        last.block = 0xD6E8_FEB8_6659_FD93;
        last.mix();
        last.hash ^ last.hash >> 32
    }
}

/// For what is a hash already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only hashes are kept");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
