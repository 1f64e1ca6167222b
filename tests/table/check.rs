//! Replays what many processes were told, call by call, in the order that the counts give. Every
//! answer must be the one that this order makes of it, and the order must not contradict the clock.
//!
//! A hit's count, less its cost, is the count of the hit before it: that puts the hits of a window in
//! a row. A refund stands after the hit whose count it saw, and gives back units one refund after the
//! other. A status stands at the state that it saw.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support;

const ANSWER_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Hit,
    Refund,
    Status,
    Reset,
}

/// One answer, as the programs write it down.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// By one clock of the whole machine, before and after the call.
    pub begun_ns: i64,
    pub ended_ns: i64,
    pub start_ms: i64,
    pub now_ms: i64,
    pub key: i64,
    pub cost: i64,
    pub count: i64,
    pub remaining: i64,
    pub limit: i64,
    pub removed: i64,
    pub call: Call,
    pub rule: u8,
    pub allowed: bool,
    pub limit_index: usize,
}

/// A limit of the policy, as the check knows it. A limit that is out of the programs' reach is
/// [`ENDLESS`] to them.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub units: i64,
    pub window_ms: i64,
}

pub const ENDLESS: i64 = i32::MAX as i64;
pub const DAY_MS: i64 = 86_400_000;

impl Limit {
    fn start_at(&self, now_ms: i64) -> i64 {
        now_ms - now_ms.rem_euclid(self.window_ms)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    pub attempts: i64,
    pub admitted: i64,
}

/// Which limit of the rule, which key, and the start of which window.
pub type Place = (usize, i64, i64);

/// Counters as the last call of each window left them.
pub type Ends = BTreeMap<Place, Counter>;

/// Whether processes died, so that hits may be missing which counted and never were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaths {
    None,
    Some,
}

/// What a replay found, when it found nothing wrong.
#[derive(Debug, Default)]
pub struct Replayed {
    pub ends: Ends,
    pub hits: usize,
    pub allowed: usize,
    /// Units of hits that counted and were not answered; not those after a window's last answer.
    pub missing: i64,
    /// Of two limits: hits that were told the same units remaining, by reservations that were taken
    /// back.
    pub repeats: usize,
}

/// Reads all files of answers in a folder.
pub fn read(folder: &Path) -> Vec<Answer> {
    let mut answers = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        answers.extend(bytes.chunks_exact(ANSWER_BYTES).filter_map(parse));
    }
    answers
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let long = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let short = |at: usize| i64::from(i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let call = match bytes[56] {
        0 => return None,
        1 => Call::Hit,
        2 => Call::Status,
        3 => Call::Refund,
        4 => Call::Reset,
        other => panic!("{other} is no call"),
    };
    Some(Answer {
        begun_ns: long(0),
        ended_ns: long(8),
        start_ms: long(16),
        now_ms: long(24),
        key: short(32),
        cost: short(36),
        count: short(40),
        remaining: short(44),
        limit: short(48),
        removed: short(52),
        call,
        rule: bytes[57],
        allowed: bytes[58] != 0,
        limit_index: usize::from(bytes[59]),
    })
}

/// Replays a rule of one limit: hits, refunds and status questions, but no resets. After deaths
/// neither refunds nor status questions, which may have seen what was never answered.
pub fn replay(answers: &mut [Answer], limit: Limit, deaths: Deaths) -> Result<Replayed, String> {
    // A hit comes before the refunds at its count: they leave more remaining, or as much.
    answers.sort_unstable_by_key(|a| (a.key, a.start_ms, a.count, a.remaining, a.call, a.begun_ns));
    let mut replayed = Replayed::default();
    for window in answers.chunk_by(|a, b| (a.key, a.start_ms) == (b.key, b.start_ms)) {
        let (key, start_ms) = (window[0].key, window[0].start_ms);
        let mut replay =
            Replay { limit, deaths, now: Counter::default(), latest: None, missing: 0 };
        for state in window.chunk_by(|a, b| (a.count, a.remaining) == (b.count, b.remaining)) {
            replay
                .go_to(state)
                .map_err(|wrong| format!("key {key}, window {start_ms}: {wrong}: {state:?}"))?;
        }
        replayed.ends.insert((window[0].limit_index, key, start_ms), replay.now);
        replayed.missing += replay.missing;
        let hits = window.iter().filter(|answer| answer.call == Call::Hit);
        replayed.hits += hits.clone().count();
        replayed.allowed += hits.filter(|answer| answer.allowed).count();
    }
    Ok(replayed)
}

/// A window, as far as it has been replayed.
struct Replay {
    limit: Limit,
    deaths: Deaths,
    now: Counter,
    /// Of the calls that come before what follows, the one that began last.
    latest: Option<Answer>,
    missing: i64,
}

impl Replay {
    /// Takes all answers that tell one state: the call that made it, and those that saw it.
    fn go_to(&mut self, state: &[Answer]) -> Result<(), String> {
        state.iter().try_for_each(|answer| is_sound(answer, self.limit))?;
        let of = |call| state.iter().filter(move |answer| answer.call == call);
        if of(Call::Reset).count() > 0 {
            return Err("a reset cannot be replayed".into());
        }
        let mut seen_by: Vec<&Answer> = of(Call::Status).collect();
        match (of(Call::Hit).count(), of(Call::Refund).count()) {
            (0, 0) => self.must_be(&state[0])?,
            (0, _) => seen_by.extend(self.refund(&of(Call::Refund).collect::<Vec<_>>())?),
            (1, _) => {
                self.hit(&state[0])?;
                // Behind it only those that had nothing to give back.
                let refunds: Vec<_> = of(Call::Refund).collect();
                if !refunds.is_empty() && self.now.admitted != 0 {
                    return Err("a refund gave nothing back".into());
                }
                seen_by.extend(refunds);
            }
            _ => return Err("two hits were told one count".into()),
        }
        let made_by = self.latest;
        for answer in seen_by {
            is_in_time(answer, made_by)?;
            self.latest = later(self.latest, answer);
        }
        Ok(())
    }

    fn hit(&mut self, hit: &Answer) -> Result<(), String> {
        let Counter { attempts, admitted } = self.now;
        let missing = hit.count - hit.cost - attempts;
        if missing < 0 {
            return Err(format!("units are counted twice: {attempts} were counted before"));
        }
        if missing > 0 && self.deaths == Deaths::None {
            return Err(format!("a gap: {attempts} were counted before"));
        }
        let after = self.limit.units - hit.remaining;
        let before = if hit.allowed { after - hit.cost } else { after };
        // What is missing was admitted or not.
        if !(admitted..=admitted + missing).contains(&before) {
            return Err(format!("{before} were admitted before, by this answer; not {admitted}"));
        }
        self.missing += missing;
        self.now = Counter { attempts: hit.count, admitted: after };
        self.changed_by(hit)
    }

    /// Refunds that were told one state. Returns those that found it so.
    fn refund<'a>(&mut self, refunds: &[&'a Answer]) -> Result<Vec<&'a Answer>, String> {
        let Counter { attempts, admitted } = self.now;
        let after = self.limit.units - refunds[0].remaining;
        if refunds[0].count != attempts {
            return Err(format!("no hit was told the count of a refund, but {attempts}"));
        }
        if after == admitted {
            return if after == 0 {
                Ok(refunds.to_vec())
            } else {
                Err("a refund gave nothing back".into())
            };
        }
        let (by, others): (Vec<&Answer>, Vec<&Answer>) =
            refunds.iter().partition(|refund| (admitted - refund.cost).max(0) == after);
        if by.is_empty() || (after > 0 && refunds.len() > 1) {
            return Err(format!("no single refund leads here from {admitted} admitted"));
        }
        self.now.admitted = after;
        // Where several of them could have been the first that left nothing, any may have been.
        let begun_ns = by.iter().map(|refund| refund.begun_ns).min().unwrap();
        let ended_ns = by.iter().map(|refund| refund.ended_ns).max().unwrap();
        self.changed_by(&Answer { begun_ns, ended_ns, ..*by[0] })?;
        Ok(others)
    }

    fn must_be(&self, seen: &Answer) -> Result<(), String> {
        let state = Counter { attempts: seen.count, admitted: self.limit.units - seen.remaining };
        if state == self.now {
            return Ok(());
        }
        Err(format!("no call made this state, and the one before is {:?}", self.now))
    }

    fn changed_by(&mut self, answer: &Answer) -> Result<(), String> {
        is_in_time(answer, self.latest)?;
        self.latest = later(self.latest, answer);
        Ok(())
    }
}

/// Who comes later in the order cannot have ended before an earlier one began.
fn is_in_time(answer: &Answer, latest: Option<Answer>) -> Result<(), String> {
    match latest {
        Some(latest) if answer.ended_ns < latest.begun_ns => {
            let nanoseconds = latest.begun_ns - answer.ended_ns;
            Err(format!(
                "it ended {nanoseconds} ns before one began that it comes after, {latest:?}"
            ))
        }
        _ => Ok(()),
    }
}

fn later(latest: Option<Answer>, answer: &Answer) -> Option<Answer> {
    latest.into_iter().chain([*answer]).max_by_key(|answer| answer.begun_ns)
}

fn is_sound(answer: &Answer, limit: Limit) -> Result<(), String> {
    if answer.limit != limit.units {
        return Err("not the limit of the policy".into());
    }
    if answer.start_ms != limit.start_at(answer.now_ms) {
        return Err("not the window of that time".into());
    }
    if !(0..=limit.units).contains(&answer.remaining) || answer.count < 0 {
        return Err("a number that cannot be".into());
    }
    let is_right = match answer.call {
        // An allowed one must have left 0 or more.
        Call::Hit if !answer.allowed => answer.remaining < answer.cost,
        Call::Hit => true,
        // Whether one more unit would be allowed.
        _ => answer.allowed == (answer.remaining > 0),
    };
    if is_right { Ok(()) } else { Err("the decision contradicts what remains".into()) }
}

/// Replays the hits of a rule of several limits. Every hit counts in each of them, and says only how
/// the deciding one stands: so sums are checked for all, and the chain where one limit decided all
/// the hits of its window.
pub fn replay_rule(answers: &[Answer], limits: &[Limit]) -> Result<Replayed, String> {
    let hits: Vec<Answer> =
        answers.iter().copied().filter(|answer| answer.call == Call::Hit).collect();
    let mut replayed = Replayed {
        hits: hits.len(),
        allowed: hits.iter().filter(|hit| hit.allowed).count(),
        ..Replayed::default()
    };
    for (index, limit) in limits.iter().enumerate() {
        let mut windows: BTreeMap<(i64, i64), Vec<Answer>> = BTreeMap::new();
        for hit in &hits {
            windows.entry((hit.key, limit.start_at(hit.now_ms))).or_default().push(*hit);
        }
        for ((key, start_ms), hits) in windows {
            let (end, repeats) = sum(&hits, index, *limit)
                .map_err(|wrong| format!("limit {index}, key {key}, window {start_ms}: {wrong}"))?;
            replayed.ends.insert((index, key, start_ms), end);
            replayed.repeats += repeats;
        }
    }
    Ok(replayed)
}

/// The hits of one window of one limit, whichever limit decided them.
fn sum(hits: &[Answer], index: usize, limit: Limit) -> Result<(Counter, usize), String> {
    let attempts = hits.iter().map(|hit| hit.cost).sum();
    let admitted = hits.iter().filter(|hit| hit.allowed).map(|hit| hit.cost).sum();
    if admitted > limit.units {
        return Err(format!("{admitted} units were allowed of {}", limit.units));
    }
    let mut decided: Vec<Answer> =
        hits.iter().copied().filter(|hit| hit.limit_index == index).collect();
    decided.sort_unstable_by_key(|hit| hit.count);
    let mut count = 0;
    for hit in &decided {
        is_sound(hit, limit).map_err(|wrong| format!("{wrong}: {hit:?}"))?;
        if hit.count - hit.cost < count {
            return Err(format!("units are counted twice: {count} were counted before: {hit:?}"));
        }
        count = hit.count;
    }
    if count > attempts {
        return Err(format!("a hit was told {count}, and there were {attempts}"));
    }
    if decided.len() == hits.len() {
        replay(&mut decided, limit, Deaths::None)?;
    }
    let mut told: Vec<i64> =
        decided.iter().filter(|hit| hit.allowed).map(|hit| hit.remaining).collect();
    told.sort_unstable();
    let repeats = told.windows(2).filter(|pair| pair[0] == pair[1]).count();
    Ok((Counter { attempts, admitted }, repeats))
}

/// Checks hits of cost 1 on keys that are reset meanwhile, in one long window: where one life ends
/// is not told, but each is 1, 2, 3 … to its last, and each reset that removed a counter ended one.
/// Returns how many lives there were.
pub fn lives(answers: &[Answer], limit: Limit) -> Result<usize, String> {
    let mut lives = 0;
    let mut keys: BTreeMap<i64, Vec<Answer>> = BTreeMap::new();
    for answer in answers {
        keys.entry(answer.key).or_default().push(*answer);
    }
    for (key, answers) in keys {
        lives += lives_of(&answers, limit).map_err(|wrong| format!("key {key}: {wrong}"))?;
    }
    Ok(lives)
}

fn lives_of(answers: &[Answer], limit: Limit) -> Result<usize, String> {
    let mut told = Vec::new();
    let mut removed = 0;
    for answer in answers {
        if answer.call == Call::Reset {
            removed += answer.removed as usize;
            continue;
        }
        is_sound(answer, limit).map_err(|wrong| format!("{wrong}: {answer:?}"))?;
        let remaining = (limit.units - answer.count).max(0);
        let is_allowed =
            answer.call != Call::Hit || answer.allowed == (answer.count <= limit.units);
        if answer.remaining != remaining || !is_allowed {
            return Err(format!("{remaining} must remain at this count: {answer:?}"));
        }
        if answer.call == Call::Hit {
            let place = answer.count as usize;
            told.resize(told.len().max(place + 1), 0);
            told[place] += 1;
        }
    }
    if let Some(count) = (2..told.len()).find(|&count| told[count] > told[count - 1]) {
        let (more, fewer) = (told[count], told[count - 1]);
        return Err(format!("{more} hits were told {count}, and {fewer} the number before"));
    }
    let lives = told.get(1).copied().unwrap_or(0);
    let last = answers.iter().filter(|answer| answer.call == Call::Status);
    let last = last.max_by_key(|answer| answer.begun_ns).map_or(0, |status| status.count);
    let unknown =
        answers.iter().find(|answer| answer.count > 0 && told.get(answer.count as usize).is_none());
    if let Some(answer) = unknown {
        return Err(format!("no hit was told the count of {answer:?}"));
    }
    if lives != removed + usize::from(last > 0) {
        return Err(format!("{lives} lives, {removed} counters removed, {last} left at the end"));
    }
    Ok(lives)
}

/// A row of the store.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub window_ms: i64,
    pub key: i64,
    pub start_ms: i64,
    pub counter: Counter,
}

/// The rows of a rule, by another SQLite.
pub fn rows(store: &Path, rule: &str) -> Vec<Row> {
    let user = support::connect(store).unwrap();
    let sql = "
        WITH spans AS (
            SELECT
                key, attempts, admitted,
                CAST(round((julianday(window_start) - 2440587.5) * 86400000) AS INTEGER) AS start,
                CAST(round((julianday(window_end) - 2440587.5) * 86400000) AS INTEGER) AS end
            FROM rate_limit_status WHERE rule = ?1
        )
        SELECT CAST(key AS BLOB), start, end - start, attempts, admitted FROM spans";
    let mut statement = user.prepare(sql).unwrap();
    let rows = statement.query_map([rule], |row| {
        Ok(Row {
            key: number_of(&row.get::<_, Vec<u8>>(0)?),
            start_ms: row.get(1)?,
            window_ms: row.get(2)?,
            counter: Counter { attempts: row.get(3)?, admitted: row.get(4)? },
        })
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// What key_of() in answers.h made a key of: digits at its end, or at its beginning where what is
/// stored goes on with a hash.
fn number_of(key: &[u8]) -> i64 {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let begins = key.iter().take_while(|byte| is_digit(byte)).count();
    let ends = key.len() - key.iter().rev().take_while(|byte| is_digit(byte)).count();
    let digits = if begins > 0 { &key[..begins] } else { &key[ends..] };
    std::str::from_utf8(digits).unwrap().parse().unwrap_or_else(|_| panic!("key {key:?}"))
}

/// Compares what a store holds after everything was written out with what was answered. A window
/// that is over may be dropped, and its row be behind.
pub fn compare(rows: &[Row], ends: &Ends, limits: &[Limit]) -> Result<(), String> {
    let mut stored: BTreeMap<Place, Counter> = BTreeMap::new();
    for row in rows {
        let index = limits.iter().position(|limit| limit.window_ms == row.window_ms);
        let index = index.ok_or_else(|| format!("a row of no limit: {row:?}"))?;
        if stored.insert((index, row.key, row.start_ms), row.counter).is_some() {
            return Err(format!("a second row: {row:?}"));
        }
    }
    let is_long = |index: usize| limits[index].window_ms >= DAY_MS;
    for (place, counter) in &stored {
        let end = ends.get(place).copied().unwrap_or_default();
        let is_behind = !is_long(place.0) && counter.attempts <= end.attempts;
        if *counter != end && !is_behind {
            return Err(format!("{place:?}: {counter:?} is stored, {end:?} was answered"));
        }
    }
    let is_stored = |place: &Place| stored.contains_key(place);
    let lost =
        ends.iter().find(|(place, end)| is_long(place.0) && end.attempts > 0 && !is_stored(place));
    match lost {
        Some((place, end)) => Err(format!("{place:?}: nothing is stored, {end:?} was answered")),
        None => Ok(()),
    }
}
