//! Set-ups and ways that nobody thought of.

use super::setup::{Call, Setup, When};

/// xorshift64*
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    fn between(&mut self, low: u8, high: u8) -> u8 {
        low + self.below((high - low + 1) as usize) as u8
    }

    fn one_in(&mut self, so_many: usize) -> bool {
        self.below(so_many) == 0
    }
}

impl Setup {
    /// Of 2 to 6 processes.
    pub fn random(random: &mut Random) -> Self {
        let slots = 1 + random.below(2);
        let (auto_prune, prunes) = (random.one_in(2), random.one_in(2));
        let latest = if random.one_in(2) { 1 } else { 3 };
        let processes = (0..2 + random.below(5)).map(|_| {
            let calls = 1 + random.below(5);
            (0..calls).map(|_| call(random, slots, latest, auto_prune, prunes)).collect()
        });
        let mut setup = Self {
            slots,
            processes: processes.collect(),
            auto_prune,
            limits: [random.between(1, 3), random.between(1, 3)],
            most: random.between(3, 7),
            deaths: if random.one_in(2) { 0 } else { random.between(1, 2) },
            failures: if random.one_in(2) { 0 } else { 2 },
            times: [vec![1], vec![1, 2], vec![1, 3], vec![1, 2, 3]][random.below(4)].clone(),
            alone: random.one_in(20),
            ..Self::default()
        };
        if random.one_in(3) {
            for (start, key) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                if random.one_in(3) {
                    let count = (random.between(1, 3), random.between(0, 1));
                    setup = setup.with_row(start, key, count);
                }
            }
        }
        setup
    }
}

fn call(random: &mut Random, slots: usize, latest: u8, auto_prune: bool, prunes: bool) -> Call {
    let key = random.between(1, 2);
    let time = random.between(1, latest);
    let when = if random.one_in(2) { When::At(time) } else { When::Clock };
    match random.below(24) {
        0..=6 => Call::Hit(key, when),
        7..=8 => Call::DurableHit(key, when),
        9..=11 if slots == 2 => Call::HitBoth(key, when),
        12..=13 => Call::Refund(key, when),
        14 => Call::Status(key, when),
        15 => Call::Reset(key),
        16 if prunes => Call::Prune(random.between(3, 4)),
        17 if auto_prune => Call::Sweep,
        _ => Call::Flush,
    }
}
