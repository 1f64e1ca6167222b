//! The model test, on a server: the same answers as from a file.

use proptest::prelude::*;
use ratelite::Limiter;

use super::agreement::{Manner, Model, POLICIES, Scene, agree, manner, steps};
use super::server::Server;
use super::support;

/// Two limiters on a server, in the manner of which only the policy counts here.
struct ServerScene<'a> {
    server: &'a Server,
    manners: [Manner; 2],
    limiters: [Option<Limiter>; 2],
}

impl<'a> ServerScene<'a> {
    fn new(server: &'a Server, manners: [Manner; 2]) -> Self {
        server.ask::<()>(&["FLUSHALL"]);
        let mut scene = Self { server, manners, limiters: [None, None] };
        scene.open_all(manners, false);
        scene
    }

    /// What the server has, as a model.
    fn stored(&self) -> Model {
        let mut model = Model::default();
        for key in self.server.keys() {
            let client = key.bytes().nth("ratelite:{".len()).unwrap();
            for (field, value) in self.server.ask::<Vec<(String, String)>>(&["HGETALL", &key]) {
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
}

impl Scene for ServerScene<'_> {
    fn open(&mut self, which: usize, manner: Manner) {
        self.limiters[which] = None;
        let mut options = support::options();
        options.auto_prune = false;
        let policy = POLICIES[manner.policy].0;
        self.limiters[which] = Some(Limiter::open(&self.server.url(), policy, &options).unwrap());
        self.manners[which] = manner;
    }

    fn open_all(&mut self, manners: [Manner; 2], _is_table_lost: bool) {
        self.open(0, manners[0]);
        self.open(1, manners[1]);
    }

    fn limiter(&self, which: usize) -> &Limiter {
        self.limiters[which].as_ref().unwrap()
    }

    fn manner(&self, which: usize) -> Manner {
        self.manners[which]
    }

    fn prunes(&self) -> bool {
        false
    }
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
        let mut scene = ServerScene::new(&server, manners);
        let model = agree(&mut scene, steps)?;
        prop_assert_eq!(scene.stored(), model);
    });
}
