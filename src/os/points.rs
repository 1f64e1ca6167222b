//! Named steps of the table's protocol, at which a test may end, stop or delay the process.
//!
//! With the feature `test-switches`, `RATELITE_POINTS` says what happens where: rules with commas
//! between them, such as `claim-published=kill/100,*=pause/1000`. A rule is the name of a point, or
//! `*` for all; `kill`, `stop` (both by signal, to this process) or `pause` (0 to 20 ms, this
//! thread); and that it happens one time in so many, by chance. Every rule that fits is tried.

/// The process is at the step of that name.
#[cfg(not(feature = "test-switches"))]
#[inline(always)]
pub(crate) fn pass(_: &str) {}

#[cfg(feature = "test-switches")]
pub(crate) use armed::pass;

#[cfg(any(test, feature = "test-switches"))]
// Without the feature only the parsing is there, for its own test.
#[cfg_attr(not(feature = "test-switches"), allow(dead_code))]
mod armed {
    use std::ffi::CStr;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    const MOST_RULES: usize = 32;
    const LONGEST_PAUSE_NS: u64 = 20_000_000;

    /// Every thread that comes first writes the same in here, so that a fork amidst that leaves the
    /// child nothing to wait for. No `getenv` of std, whose lock a fork may leave taken.
    static RULES: [Place; MOST_RULES] = [const { Place::new() }; MOST_RULES];
    static IS_READ: AtomicBool = AtomicBool::new(false);
    static PASSES: AtomicU64 = AtomicU64::new(0);

    /// A rule where threads can share it. `one_in` is 0 where there is none.
    struct Place {
        name: AtomicU64,
        action: AtomicU64,
        one_in: AtomicU64,
    }

    impl Place {
        const fn new() -> Self {
            Self { name: AtomicU64::new(0), action: AtomicU64::new(0), one_in: AtomicU64::new(0) }
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Action {
        Kill,
        Stop,
        Pause,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Rule {
        /// [`hash_of`] the point's name, or of `*`.
        name: u64,
        action: Action,
        one_in: u64,
    }

    /// The process is at the step of that name.
    pub(crate) fn pass(name: &str) {
        if !IS_READ.load(Ordering::Acquire) {
            read();
        }
        if RULES[0].one_in.load(Ordering::Relaxed) == 0 {
            return;
        }
        let (name, all) = (hash_of(name), hash_of("*"));
        for place in &RULES {
            let one_in = place.one_in.load(Ordering::Relaxed);
            if one_in == 0 {
                return;
            }
            let fits = [name, all].contains(&place.name.load(Ordering::Relaxed));
            if fits && random().is_multiple_of(one_in) {
                act(place.action.load(Ordering::Relaxed));
            }
        }
    }

    fn read() {
        // SAFETY: a NUL-terminated name. Whoever runs a test does not change the environment beside
        // a call of the library, and what is found is read at once.
        let text = unsafe {
            let found = libc::getenv(c"RATELITE_POINTS".as_ptr());
            if found.is_null() { c"" } else { CStr::from_ptr(found) }
        };
        // A test whose rules mean nothing would prove nothing.
        let parsed = text.to_str().ok().and_then(parse);
        let Some(rules) = parsed else { std::process::abort() };
        for (place, rule) in RULES.iter().zip(rules.into_iter().flatten()) {
            place.name.store(rule.name, Ordering::Relaxed);
            place.action.store(rule.action as u64, Ordering::Relaxed);
            place.one_in.store(rule.one_in, Ordering::Relaxed);
        }
        IS_READ.store(true, Ordering::Release);
    }

    fn act(action: u64) {
        let signal = |signal| {
            // SAFETY: plain system calls. Neither signal can be held back.
            unsafe { libc::kill(libc::getpid(), signal) };
        };
        if action == Action::Kill as u64 {
            signal(libc::SIGKILL);
        } else if action == Action::Stop as u64 {
            signal(libc::SIGSTOP);
        } else {
            let nanoseconds = (random() % LONGEST_PAUSE_NS) as libc::c_long;
            let pause = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
            // SAFETY: a pointer to this stack.
            unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
        }
    }

    /// `None` where the text is no list of rules, or too long a one.
    fn parse(text: &str) -> Option<[Option<Rule>; MOST_RULES]> {
        let mut rules = [None; MOST_RULES];
        if text.is_empty() {
            return Some(rules);
        }
        for (index, rule) in text.split(',').enumerate() {
            let (name, what) = rule.split_once('=')?;
            let (action, one_in) = what.split_once('/')?;
            let action = match action {
                "kill" => Action::Kill,
                "stop" => Action::Stop,
                "pause" => Action::Pause,
                _ => return None,
            };
            let one_in = one_in.parse().ok().filter(|one_in| *one_in > 0)?;
            *rules.get_mut(index)? = Some(Rule { name: hash_of(name), action, one_in });
        }
        Some(rules)
    }

    /// FNV-1a: names are compared by it, so that a rule fits in words.
    fn hash_of(name: &str) -> u64 {
        name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }

    /// Different in every thread and child of fork, since they cannot come here at one instant.
    fn random() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a pointer to this stack.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        let passes = PASSES.fetch_add(1, Ordering::Relaxed);
        let seed = (now.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(now.tv_nsec as u64)
            .wrapping_add(passes.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // The finish of SplitMix64.
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_rule_is_a_name_an_action_and_its_rarity() {
            let rules = parse("claim-published=kill/100,*=pause/1000,x=stop/1").unwrap();
            let rule = |name, action, one_in| Some(Rule { name: hash_of(name), action, one_in });
            assert_eq!(rules[0], rule("claim-published", Action::Kill, 100));
            assert_eq!(rules[1], rule("*", Action::Pause, 1_000));
            assert_eq!(rules[2], rule("x", Action::Stop, 1));
            assert_eq!(rules[3..], [None; MOST_RULES - 3]);
            assert_eq!(parse(""), Some([None; MOST_RULES]));
        }

        #[test]
        fn what_is_no_list_of_rules_is_refused() {
            for text in ["x", "x=kill", "x=kill/0", "x=die/3", "x=kill/-1", "x=kill/3,", ","] {
                assert_eq!(parse(text), None, "{text}");
            }
            assert_eq!(parse(&vec!["x=kill/3"; MOST_RULES + 1].join(",")), None);
        }
    }
}
