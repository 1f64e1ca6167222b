//! Under a secret no key of a client reaches the server, and nobody counts apart by another secret.

use ratelite::{Code, Limiter, Options};

use super::server::Server;

fn open(store: &str, secret: Option<&[u8]>) -> Limiter {
    let mut options = Options::default();
    options.key_secret = secret.map(<[u8]>::to_vec);
    Limiter::open(store, "9/day", &options).unwrap()
}

#[test]
fn under_a_secret_no_key_is_on_the_server() {
    let server = Server::start();
    let limiter = open(&server.url(), Some(b"a secret"));
    for key in [&b"K3Y-M4RK"[..], b"K3Y-M4RK of a client", &[b'M'; 500]] {
        assert_eq!(limiter.hit(None, key, 1, None).unwrap().count, 1);
        assert_eq!(limiter.reset(None, key).unwrap(), 1);
        assert_eq!(limiter.hit(None, key, 1, None).unwrap().count, 1);
    }
    let mut connection = server.connection();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    assert_eq!(keys.len(), 4, "three clients, and the check value of the secret");
    for key in keys {
        let text = String::from_utf8_lossy(&key).into_owned();
        assert!(!text.contains("M4RK") && !text.contains("MMM"), "{text}");
    }
    assert!(!server.ask::<String>(&["GET", "ratelite:key_secret"]).contains("secret"));
}

#[test]
fn another_secret_is_refused() {
    let server = Server::start();
    assert_eq!(open(&server.url(), Some(b"one")).hit(None, b"k", 1, None).unwrap().count, 1);
    assert_eq!(open(&server.url(), Some(b"one")).hit(None, b"k", 1, None).unwrap().count, 2);
    let other = open(&server.url(), Some(b"another"));
    for error in [
        other.hit(None, b"k", 1, None).unwrap_err(),
        other.status(None, b"k", None).unwrap_err(),
        other.reset(None, b"k").unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::Invalid);
        assert!(error.to_string().contains("another key_secret"), "{error}");
    }
    // Under another prefix they do not meet.
    let apart = open(&format!("{}?prefix=apart", server.url()), Some(b"another"));
    assert_eq!(apart.hit(None, b"k", 1, None).unwrap().count, 1);
}

/// Keys of any bytes, long ones and ones that look like the names that they stand in.
#[test]
fn clients_are_apart_whatever_their_keys() {
    let server = Server::start();
    let policy = "a: 9/day; b: 9/day; a.b: 9/day";
    let limiter = Limiter::open(&server.url(), policy, &Options::default()).unwrap();
    let keys: [&[u8]; 12] = [
        b"k",
        b"K",
        b"k}",
        b"{k}",
        b"}:a",
        b"k}:a",
        b"\0",
        b"\0\0",
        b"\r\n",
        b"\xff\xfe",
        &[b'x'; 72],
        &[b'x'; 73],
    ];
    for rule in ["a", "b", "a.b"] {
        for key in keys {
            assert_eq!(limiter.hit(Some(rule), key, 1, None).unwrap().count, 1, "{rule} {key:?}");
        }
    }
    for key in keys {
        assert_eq!(limiter.reset(None, key).unwrap(), 3, "{key:?}");
    }
    assert_eq!(server.ask::<u32>(&["DBSIZE"]), 0);
}
