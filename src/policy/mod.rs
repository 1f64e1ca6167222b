//! Policies: an ordered list of rules, written as text.

mod cursor;
mod parse;

use std::collections::HashMap;

use crate::error::Result;
use crate::route::{Route, path_of};
use crate::window::Window;

/// The rules of a limiter, in the order in which they are tried; at least one, each of its own
/// name.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    by_name: HashMap<String, usize>,
}

/// A name, the requests it speaks of, and one or more limits of different windows.
#[derive(Clone, Debug)]
pub struct Rule {
    name: String,
    route: Option<Route>,
    limits: Vec<Limit>,
}

/// At most so many units a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    units: i64,
    window: Window,
}

impl Policy {
    /// Reads a policy, for instance `login: POST /login 3/10s; api: * 10/10s, 1000/day`. The
    /// text is UTF-8.
    ///
    /// ```text
    /// policy   = rule { (";" | newline) rule }           "# …" to the end of a line is skipped
    /// rule     = [ name ":" ] [ [ METHOD ] path ] limit { "," limit }
    /// name     = 1 to 64 of A-Z a-z 0-9 _ . -            a sole rule may be unnamed: "default"
    /// METHOD   = 1 to 32 of A-Z -                        none: any method
    /// path     = "/…" exact | "/…/*" prefix | "*" all    none: all
    /// limit    = N "/" duration | N " per " duration     N: 0 to 2^53-1
    /// duration = [ count ] unit                          1 ms to 366 days; no count = 1
    /// unit     = ms | s sec second | m min minute | h hour | d day | month
    /// ```
    ///
    /// # Errors
    ///
    /// [`Code::Policy`](crate::error::Code::Policy), with the line and the column (in bytes,
    /// both from 1), what was expected there and what was found.
    pub fn parse(text: &[u8]) -> Result<Self> {
        parse::policy(text)
    }

    /// The rules, in the order of the text. Indexes in results count in this slice.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The index of the rule of that name.
    pub fn rule_index(&self, name: &str) -> Option<usize> {
        // A comparison is cheaper than a hash.
        const FEW: usize = 8;
        if self.rules.len() <= FEW {
            return self.rules.iter().position(|rule| rule.name == name);
        }
        self.by_name.get(name).copied()
    }

    /// The index of the only rule; `None` when there are several.
    pub fn sole_rule(&self) -> Option<usize> {
        (self.rules.len() == 1).then_some(0)
    }

    /// The same rules, each limit granting so many percent of its units: rounded down, and at least one
    /// where it grants any.
    pub(crate) fn scaled(&self, percent: u32) -> Self {
        let mut scaled = self.clone();
        for limit in scaled.rules.iter_mut().flat_map(|rule| &mut rule.limits) {
            let share = i128::from(limit.units) * i128::from(percent) / 100;
            let most = limit.units;
            limit.units = i64::try_from(share).unwrap_or(most).clamp(most.min(1), most);
        }
        scaled
    }

    /// Whether both have rules of the same names, in the same order.
    pub(crate) fn has_names_of(&self, other: &Self) -> bool {
        self.rules.iter().map(Rule::name).eq(other.rules.iter().map(Rule::name))
    }

    /// The index of the first rule that a request fits, by its method and its target as they
    /// stand in the request line; `None` when it fits none.
    pub fn route(&self, method: &[u8], target: &[u8]) -> Option<usize> {
        let path = path_of(target);
        self.rules.iter().position(|rule| match &rule.route {
            Some(route) => route.matches(method, path),
            None => true,
        })
    }
}

impl Rule {
    /// The name: 1 to 64 of `A-Z a-z 0-9 _ . -`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The requests that the rule speaks of; `None` for all of them.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// The limits, in the order of the text: at least one, no two with the same window.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}

impl Limit {
    /// The units that a window grants, 0 to [`MAX_UNITS`](crate::units::MAX_UNITS).
    pub fn units(&self) -> i64 {
        self.units
    }

    /// How the limit divides time.
    pub fn window(&self) -> Window {
        self.window
    }
}

#[cfg(test)]
impl Limit {
    pub(crate) fn new(units: i64, window: Window) -> Self {
        Self { units, window }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn parse(text: &str) -> Policy {
        Policy::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn rules_are_found_by_name() {
        let policy = parse("a: 1/s; B: 2/s\nc.d-e_1: 3/s");
        for (name, index) in
            [("a", Some(0)), ("B", Some(1)), ("c.d-e_1", Some(2)), ("b", None), ("", None)]
        {
            assert_eq!(policy.rule_index(name), index, "{name:?}");
        }
    }

    #[test]
    fn only_the_rule_of_a_one_rule_policy_is_the_sole_rule() {
        assert_eq!(parse("1/s").sole_rule(), Some(0));
        assert_eq!(parse("a: 1/s").sole_rule(), Some(0));
        assert_eq!(parse("a: 1/s; b: 1/s").sole_rule(), None);
    }

    #[test]
    fn the_first_rule_that_fits_wins() {
        let policy = parse("a: POST /x 1/s; b: /x 1/s; c: GET * 1/s; d: 1/s; e: 1/s");
        for (method, target, rule) in [
            ("POST", "/x", "a"),
            ("PUT", "/x?y", "b"),
            ("GET", "/x", "b"),
            ("GET", "/y", "c"),
            ("PUT", "/y", "d"),
            ("", "", "d"),
        ] {
            let index = policy.route(method.as_bytes(), target.as_bytes());
            assert_eq!(index, policy.rule_index(rule), "{method} {target}");
        }
    }

    #[test]
    fn a_share_is_rounded_down_and_never_nothing() {
        let policy = parse("a: 0/s, 1/m, 3/h; b: 9007199254740991/d");
        let units = |policy: &Policy| -> Vec<_> {
            policy.rules().iter().flat_map(|rule| rule.limits()).map(Limit::units).collect()
        };
        assert_eq!(units(&policy.scaled(100)), units(&policy));
        assert_eq!(units(&policy.scaled(50)), [0, 1, 1, 4_503_599_627_370_495]);
        assert_eq!(units(&policy.scaled(1)), [0, 1, 1, 90_071_992_547_409]);
    }

    #[test]
    fn rules_are_the_same_by_their_names_and_order() {
        assert!(parse("a: 1/s; b: 2/s").has_names_of(&parse("a: /x 9/d; b: 1/s, 3/m")));
        for other in ["a: 1/s", "b: 1/s; a: 1/s", "a: 1/s; b: 1/s; c: 1/s"] {
            assert!(!parse("a: 1/s; b: 2/s").has_names_of(&parse(other)), "{other}");
        }
    }

    #[test]
    fn every_route_of_the_semantics_cases_comes_out() {
        let cases: Value =
            serde_json::from_str(include_str!("../../tests/cases/semantics.json")).unwrap();
        let mut routes = 0;
        for case in cases.as_array().unwrap() {
            let policy = parse(case["policy"].as_str().unwrap());
            for step in case["steps"].as_array().unwrap().iter().filter(|s| s["op"] == "route") {
                let method = step["method"].as_str().unwrap();
                let target = step["target"].as_str().unwrap();
                let index = policy.route(method.as_bytes(), target.as_bytes());
                let name = index.map(|index| policy.rules()[index].name());
                assert_eq!(name, step["expect"].as_str(), "{method} {target}");
                routes += 1;
            }
        }
        assert!(routes > 0);
    }
}
