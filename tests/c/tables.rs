//! Writes tests/cases as C tables, of the types in cases.h.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

const FIELDS: [&str; 11] = [
    "allowed",
    "limit",
    "count",
    "remaining",
    "reset_at",
    "retry_after",
    "window_start_ms",
    "window_ms",
    "now_ms",
    "rule",
    "limit_index",
];

/// The text of tables.h.
pub fn tables() -> String {
    let scenarios = read("semantics");
    // One key is as long as a body.
    let mut text = String::from("#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n");
    for (number, case) in list(&scenarios).iter().enumerate() {
        let name = format!("step STEPS_{number}");
        table(&mut text, &name, &case["steps"], step);
    }
    let mut number = 0..;
    table(&mut text, "scenario SCENARIOS", &scenarios, |case| {
        let steps = format!("STEPS_{}", number.next().unwrap());
        let (name, policy) = (literal(&case["name"]), literal(&case["policy"]));
        format!("{{{name}, {policy}, {steps}, LENGTH({steps})}}")
    });
    let policies = read("policies");
    table(&mut text, "char *const ACCEPTED", &policies["accepted"], literal);
    table(&mut text, "char *const REFUSED", &policies["refused"], literal);
    table(&mut text, "policy_error POLICY_ERRORS", &read("policy_errors"), |case| {
        format!("{{{}, {}}}", literal(&case["text"]), literal(&case["message"]))
    });
    table(&mut text, "header_case HEADERS", &read("headers"), |case| {
        format!(
            "{{{}, {}, RL_HEADERS_{}, {}, {}}}",
            literal(&case["name"]),
            literal(&case["policy"]),
            case["style"].as_str().unwrap(),
            result(&case["outcome"], case),
            literal(&case["expect"])
        )
    });
    table(&mut text, "ip_case IP_KEYS", &read("ip_keys"), |case| {
        let (ip, key) = (literal(&case["ip"]), literal(&case["expect"]));
        format!("{{{ip}, {}, {}, {key}}}", integer(&case["prefix"]), code(case))
    });
    text
}

fn step(step: &Value) -> String {
    let op = step["op"].as_str().unwrap();
    if op == "route" {
        let rule = literal(&step["expect"]);
        let code = if step["expect"].is_null() { "RL_ENORULE" } else { "RL_OK" };
        return format!(
            "{{.op = ROUTE, .method = {}, .target = {}, .code = {code}, .route = {rule}}}",
            literal(&step["method"]),
            literal(&step["target"])
        );
    }
    format!(
        "{{.op = {}, .rule = {}, .key = {}, .key_len = {}, .cost = {}, .now_ms = {}, .code = {}, \
         .result = {}}}",
        op.to_uppercase(),
        literal(&step["rule"]),
        literal_with_nul(&step["key"]),
        step["key"].as_str().unwrap().len(),
        step.get("cost").map_or("0".into(), integer),
        integer(&step["now_ms"]),
        code(step),
        result(&step["expect"], step)
    )
}

/// A result. Where it has no time, it was asked for at that of the step.
fn result(expected: &Value, step: &Value) -> String {
    if expected.is_null() {
        return "{0}".into();
    }
    let fields = FIELDS.iter().map(|field| {
        let value = expected.get(field).unwrap_or(&step[field]);
        format!(".{field} = {}", integer(value))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

fn code(case: &Value) -> &str {
    case.get("error").map_or("RL_OK", |code| code.as_str().unwrap())
}

fn table(text: &mut String, name: &str, cases: &Value, mut row: impl FnMut(&Value) -> String) {
    writeln!(text, "static const {name}[] = {{").unwrap();
    for case in list(cases) {
        writeln!(text, "    {},", row(case)).unwrap();
    }
    writeln!(text, "}};").unwrap();
}

fn list(cases: &Value) -> &[Value] {
    cases.as_array().expect("a list of cases")
}

/// C has no literal for the lowest integer: there, the minus is an operator.
fn integer(value: &Value) -> String {
    match value.as_i64().expect("an integer") {
        i64::MIN => "INT64_MIN".into(),
        number => number.to_string(),
    }
}

/// A C string, or NULL.
fn literal(value: &Value) -> String {
    let Some(string) = value.as_str() else { return "NULL".into() };
    assert!(!string.contains('\0'), "C would not see what follows the NUL in {string:?}");
    literal_with_nul(value)
}

fn literal_with_nul(value: &Value) -> String {
    // Three octal digits: unlike \x, they end by themselves. No "?", which begins trigraphs.
    let escaped = value.as_str().unwrap().bytes().map(|byte| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\{byte:03o}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn read(name: &str) -> Value {
    let file = format!("tests/cases/{name}.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
