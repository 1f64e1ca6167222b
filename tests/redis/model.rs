//! The model test, on a server: the same answers as from a file.

use proptest::prelude::*;
use ratelite::{Limiter, Options};

use super::agreement::{Manner, Model, POLICIES, Scene, agree, manner, steps};
use super::server::Server;
use super::support;

/// Two limiters on a server, in whose manners only the policy counts.
pub struct PolicyOnly {
    store: String,
    set: fn(&mut Options),
    manners: Option<[Manner; 2]>,
    limiters: [Option<Limiter>; 2],
}

impl PolicyOnly {
    pub fn new(store: String, set: fn(&mut Options)) -> Self {
        Self { store, set, manners: None, limiters: [None, None] }
    }
}

impl Scene for PolicyOnly {
    fn open(&mut self, which: usize, manner: Manner) {
        self.limiters[which] = None;
        let mut options = support::options();
        (self.set)(&mut options);
        // The model prunes only when it is told to.
        options.auto_prune = false;
        let policy = POLICIES[manner.policy].0;
        self.limiters[which] = Some(Limiter::open(&self.store, policy, &options).unwrap());
        self.manners.get_or_insert([manner; 2])[which] = manner;
    }

    fn open_all(&mut self, manners: [Manner; 2], _is_table_lost: bool) {
        self.open(0, manners[0]);
        self.open(1, manners[1]);
    }

    fn limiter(&self, which: usize) -> &Limiter {
        self.limiters[which].as_ref().unwrap()
    }

    fn manner(&self, which: usize) -> Manner {
        self.manners.unwrap()[which]
    }

    fn prunes(&self) -> bool {
        false
    }
}

/// What a server has, as a model.
fn stored(server: &Server) -> Model {
    let mut model = Model::default();
    for key in server.keys() {
        let client = key.as_bytes()["ratelite:{".len()];
        for (field, value) in server.ask::<Vec<(String, String)>>(&["HGETALL", &key]) {
            let pair = |text: &str, separator| {
                let (one, other) = text.split_once(separator).unwrap();
                (one.parse::<i64>().unwrap(), other.parse::<i64>().unwrap())
            };
            let ((window, start), counter) = (pair(&field, ':'), pair(&value, ' '));
            model.0.insert((client, window, start), counter);
        }
    }
    model
}

#[test]
fn any_sequence_of_calls_on_a_server_agrees_with_the_model() {
    let server = Server::start();
    let config = ProptestConfig {
        cases: 100 * support::scale(),
        failure_persistence: None,
        ..Default::default()
    };
    proptest!(config, |(manners in [manner(), manner()], steps in steps())| {
        server.ask::<()>(&["FLUSHALL"]);
        let mut scene = PolicyOnly::new(server.url(), |_| {});
        scene.open_all(manners, false);
        let model = agree(&mut scene, steps)?;
        prop_assert_eq!(stored(&server), model);
    });
}
