//! What a peer is and runs on.

const LOCK: &str = include_str!("../Cargo.lock");
const RUSTC: &str = env!("RUSTC_VERSION");

/// A crate as it was built in.
pub fn of_crate(name: &str) -> String {
    format!("{name} {}, {RUSTC}", locked(name).unwrap_or("?"))
}

/// SQLite, and the crate it is called by.
pub fn of_sqlite() -> String {
    format!("SQLite {}, {}", rusqlite::version(), of_crate("rusqlite"))
}

fn locked(name: &str) -> Option<&'static str> {
    let (_, package) = LOCK.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    package.split('"').next()
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_found() {
        assert!(super::of_crate("governor").starts_with("governor 0.10."));
        assert!(super::of_sqlite().starts_with("SQLite 3."));
    }
}
