//! The scripts that the server runs: each call is one, so that it is one atomic step.

use redis::{Cmd, Script as Hashed};

/// A script, by its text and by the hash that the server knows it by once it has run.
pub(super) struct Script {
    text: String,
    hash: String,
}

/// Those of a client, whatever the rule.
pub(super) struct Scripts {
    pub(super) reset: Script,
    pub(super) secret: Script,
}

/// Those of rules that have so many limits.
pub(super) struct RuleScripts {
    pub(super) hit: Script,
    pub(super) status: Script,
    pub(super) refund: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            reset: Script::new(include_str!("reset.lua").to_owned()),
            secret: Script::new(include_str!("secret.lua").to_owned()),
        }
    }
}

impl RuleScripts {
    pub(super) fn new(limits: usize) -> Self {
        let with = |end| {
            let template = [include_str!("windows.lua"), end].concat();
            Script::new(unrolled(&template, limits))
        };
        Self {
            hit: with(include_str!("hit.lua")),
            status: with(include_str!("status.lua")),
            refund: with(include_str!("refund.lua")),
        }
    }
}

/// A template as `windows.lua` describes it, for so many limits.
fn unrolled(template: &str, limits: usize) -> String {
    let template = template.replace("@n", &limits.to_string());
    let mut text = String::new();
    let mut rest = template.as_str();
    while let Some((once, repeated)) = rest.split_once("-- for each limit\n") {
        let (each, after) = repeated.split_once("-- end\n").unwrap_or((repeated, ""));
        text.push_str(once);
        for number in 1..=limits {
            text.push_str(&each.replace('@', &number.to_string()));
        }
        rest = after;
    }
    text + rest
}

impl Script {
    fn new(text: String) -> Self {
        Self { hash: Hashed::new(&text).get_hash().to_owned(), text }
    }

    /// The call of a script that the server knows.
    pub(super) fn by_hash(&self, key: &[u8], arguments: &[i64]) -> Vec<u8> {
        call("EVALSHA", &self.hash, key, arguments)
    }

    /// The call for a server that has answered NOSCRIPT; from then on it knows the script.
    pub(super) fn by_text(&self, key: &[u8], arguments: &[i64]) -> Vec<u8> {
        call("EVAL", &self.text, key, arguments)
    }
}

fn call(command: &str, script: &str, key: &[u8], arguments: &[i64]) -> Vec<u8> {
    let mut call = Cmd::new();
    call.arg(command).arg(script).arg(1).arg(key).arg(arguments);
    call.get_packed_command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_written_out_for_each_limit() {
        let template = "a\n-- for each limit\nx@ = @n\n-- end\nb\n-- for each limit\ny@\n-- end\n";
        assert_eq!(unrolled(template, 2), "a\nx1 = 2\nx2 = 2\nb\ny1\ny2\n");
    }

    #[test]
    fn nothing_of_a_template_is_left() {
        let scripts = RuleScripts::new(3);
        for script in [scripts.hit, scripts.status, scripts.refund] {
            assert!(script.text.contains("attempts3"));
            let mut code = script.text.lines().filter(|line| !line.starts_with("--"));
            assert!(code.all(|line| !line.contains('@')), "{}", script.text);
        }
    }
}
