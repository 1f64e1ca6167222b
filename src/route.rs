//! Routes: which requests a rule speaks of, by method and path.

/// A method and a path pattern. Bytes are compared: nothing is decoded, folded or normalized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    method: Option<String>,
    path: Pattern,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// This path and no other.
    Exact(String),
    /// Every path that begins with this text, which ends in `/`.
    Prefix(String),
    /// Every path, an empty one and the `*` of `OPTIONS *` too.
    All,
}

impl Route {
    pub(crate) fn new(method: Option<String>, path: Pattern) -> Self {
        Self { method, path }
    }

    /// Whether a request fits. `path` is the request's target without query, fragment,
    /// scheme and authority.
    pub fn matches(&self, method: &[u8], path: &[u8]) -> bool {
        let method_fits = match &self.method {
            Some(wanted) => wanted.as_bytes() == method,
            None => true,
        };
        method_fits
            && match &self.path {
                Pattern::Exact(wanted) => wanted.as_bytes() == path,
                Pattern::Prefix(wanted) => path.starts_with(wanted.as_bytes()),
                Pattern::All => true,
            }
    }
}

/// The path of a request target (RFC 9112, section 3.2): what stands before the first `?` or `#`,
/// in absolute form (`scheme://authority/path`) without scheme and authority, where an empty path
/// is `/`. Every other target is its own path, an empty one too.
pub fn path_of(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?' || byte == b'#');
    let target = &target[..end.unwrap_or(target.len())];
    match after_scheme(target) {
        None => target,
        Some(rest) => match rest.iter().position(|&byte| byte == b'/') {
            Some(slash) => &rest[slash..],
            None => b"/",
        },
    }
}

/// What follows `scheme://`, when the target begins with one.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let colon = target.iter().position(|&byte| byte == b':')?;
    let (scheme, rest) = target.split_at(colon);
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    if is_scheme { rest.strip_prefix(b"://") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_target_without_query_fragment_scheme_and_authority() {
        for (target, path) in [
            ("/login", "/login"),
            ("/login?next=/x#y", "/login"),
            ("/login#x?y", "/login"),
            ("?x", ""),
            ("", ""),
            ("*", "*"),
            ("/", "/"),
            ("//login", "//login"),
            ("/%6Cogin", "/%6Cogin"),
            ("http://h/login", "/login"),
            ("http://h/login?u=http://i/other", "/login"),
            ("HTTPS://u:p@h:8443//a", "//a"),
            ("coap+tcp://h/a", "/a"),
            ("http://h", "/"),
            ("http://h?x", "/"),
            ("http://h#x", "/"),
            ("http:///a", "/a"),
            ("http://", "/"),
            ("http:/a", "http:/a"),
            ("h:443", "h:443"),
            ("://h/a", "://h/a"),
            ("1http://h/a", "1http://h/a"),
            ("/to/http://h/a", "/to/http://h/a"),
            ("a b://h/a", "a b://h/a"),
            ("?://h/a", ""),
        ] {
            assert_eq!(path_of(target.as_bytes()), path.as_bytes(), "{target:?}");
        }
        assert_eq!(path_of(b"/\xff\0?x"), b"/\xff\0");
    }

    #[test]
    fn a_pattern_fits_by_bytes_alone() {
        let exact = Pattern::Exact("/login".into());
        let prefix = Pattern::Prefix("/api/".into());
        for (pattern, path, fits) in [
            (&exact, "/login", true),
            (&exact, "/login/", false),
            (&exact, "/loginx", false),
            (&exact, "/Login", false),
            (&exact, "//login", false),
            (&exact, "/%6Cogin", false),
            (&exact, "", false),
            (&prefix, "/api/", true),
            (&prefix, "/api/a/b", true),
            (&prefix, "/api", false),
            (&prefix, "/apix/", false),
            (&prefix, "/v1/api/", false),
            (&Pattern::Prefix("/".into()), "/a", true),
            (&Pattern::Prefix("/".into()), "*", false),
            (&Pattern::Prefix("/".into()), "", false),
            (&Pattern::All, "*", true),
            (&Pattern::All, "", true),
        ] {
            let route = Route::new(None, pattern.clone());
            assert_eq!(route.matches(b"GET", path.as_bytes()), fits, "{pattern:?} on {path:?}");
        }
    }

    #[test]
    fn a_method_fits_itself_alone_and_no_method_fits_any() {
        let post = Route::new(Some("POST".into()), Pattern::All);
        let any = Route::new(None, Pattern::All);
        for (method, fits) in [("POST", true), ("post", false), ("POSTS", false), ("", false)] {
            assert_eq!(post.matches(method.as_bytes(), b"/"), fits, "{method:?}");
            assert!(any.matches(method.as_bytes(), b"/"), "{method:?}");
        }
    }
}
