//! The examples of bindings/c, run as their readers would.

use std::time::{SystemTime, UNIX_EPOCH};

use super::support;

fn output_of(example: &str) -> String {
    let program = support::compile(format!("../bindings/c/{example}.c"), &["-Wpedantic"]);
    let directory = support::fresh_directory();
    let store = directory.path().join("limits.db");
    let run = || support::run_well(&program, &support::library_dir(), 10, &[&store]).text;
    let output = run();
    if example == "gateway" {
        assert_eq!(run(), output, "a second run on the same store");
    }
    output
}

#[test]
fn the_quickstart_refuses_the_fourth_request_of_a_minute() {
    let minute = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
    // It uses the system's clock: a minute that ends meanwhile grants three more.
    let output = loop {
        let (before, output) = (minute(), output_of("quickstart"));
        if minute() == before {
            break output;
        }
    };
    let lines: Vec<_> = output.lines().collect();
    let [one, two, three, four, five] = lines[..] else { panic!("{output}") };
    assert_eq!(one, "request 1: allowed, 2 left");
    assert_eq!(two, "request 2: allowed, 1 left");
    assert_eq!(three, "request 3: allowed, 0 left");
    for (number, line) in [(4, four), (5, five)] {
        let wait = line.strip_prefix(&format!("request {number}: denied, retry after ")).unwrap();
        let seconds: u64 = wait.strip_suffix(" s").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{line}");
    }
}

#[test]
fn the_gateway_lets_six_logins_pass_at_the_boundary_and_says_so_in_headers() {
    let output = output_of("gateway");
    let timeline: Vec<(f64, &str)> = output
        .lines()
        .filter_map(|line| Some((line.split_whitespace().next()?.parse().ok()?, line)))
        .collect();
    let logins = |answer| {
        let of_the_client = |line: &str| line.contains("192.0.2.7 ") && line.contains(" login ");
        let fitting =
            timeline.iter().filter(move |(_, line)| of_the_client(line) && line.contains(answer));
        fitting.map(|(second, _)| *second).collect::<Vec<_>>()
    };
    assert_eq!(logins(" 200 "), [8.0, 9.0, 9.5, 10.0, 10.4, 10.9], "{output}");
    assert_eq!(logins(" 429 "), [9.9, 11.0], "{output}");

    // A budget for each class of route and for each client.
    let last_two: Vec<_> = timeline.iter().rev().take(2).map(|(_, line)| *line).collect();
    assert!(last_two[1].contains("GET") && last_two[1].ends_with("api   200  9 left"), "{output}");
    assert!(last_two[0].contains("2001:db8:7::/64"), "{output}");
    assert!(last_two[0].ends_with("login 200  2 left"), "{output}");

    let (_, responses) = output.split_once("\nHTTP/1.1 ").unwrap();
    assert_eq!(
        responses,
        "200 OK\r\n\
         X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 1767225610\r\n\
         \nHTTP/1.1 429 Too Many Requests\r\n\
         X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1767225620\r\n\
         Retry-After: 9\r\nContent-Type: application/problem+json\r\n\r\n\
         {\"type\":\"rate-limit-exceeded\",\"title\":\"Too Many Requests\",\"status\":429,\
         \"detail\":\"The limit of 3 per 10s leaves no room; retry after 9 s.\",\
         \"limit\":3,\"remaining\":0,\"retry_after\":9}\n"
    );
}
