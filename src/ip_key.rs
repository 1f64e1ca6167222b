//! Keys from IP addresses: one client, one key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Error, Result};

/// What one subscriber gets at least (RFC 6177), so a single host can use all of it.
const DEFAULT_V6_PREFIX: u32 = 64;

/// The key of a client by its address: an IPv4 address as `192.0.2.1`, also when it comes as
/// IPv4-mapped (`::ffff:192.0.2.1`) or through NAT64 (`64:ff9b::192.0.2.1`); of any other IPv6
/// address its network in canonical form, `2001:db8:1:2::/64`, since one client may use all
/// addresses of it. `v6_prefix` is the length of that network in bits, 1 to 128; 0 means 64. A
/// zone (`%eth0`) is dropped.
///
/// # Errors
///
/// [`Code::Invalid`](crate::error::Code::Invalid) for text that is no bare address (no port,
/// bracket or blank belongs to it) and for a prefix out of range.
pub fn ip_key(ip: &str, v6_prefix: i32) -> Result<String> {
    let prefix = match u32::try_from(v6_prefix) {
        Ok(0) => DEFAULT_V6_PREFIX,
        Ok(bits @ 1..=128) => bits,
        _ => {
            return Err(Error::invalid(format!(
                "IPv6 prefix {v6_prefix} is out of range: give 1 to 128 bits, or 0 for 64"
            )));
        }
    };
    match parse(ip) {
        Some(IpAddr::V4(v4)) => Ok(v4.to_string()),
        Some(IpAddr::V6(v6)) => Ok(match embedded_v4(v6) {
            Some(v4) => v4.to_string(),
            None => {
                let network = v6.to_bits() & (u128::MAX << (128 - prefix));
                format!("{}/{prefix}", Ipv6Addr::from_bits(network))
            }
        }),
        // The text may be a whole header that a client made up: it is not repeated.
        None => Err(Error::invalid(
            "the text is no IP address: give one IPv4 or IPv6 address without port, brackets \
             or blanks",
        )),
    }
}

fn parse(ip: &str) -> Option<IpAddr> {
    match ip.split_once('%') {
        None => ip.parse().ok(),
        Some((v6, zone)) if is_zone(zone) => v6.parse().ok().map(IpAddr::V6),
        Some(_) => None,
    }
}

/// A zone is what RFC 6874 lets one be: not a place to hide a port or a bracket.
fn is_zone(zone: &str) -> bool {
    !zone.is_empty() && zone.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];
    let in_nat64 = v6.segments().starts_with(&NAT64);
    // The cast keeps the low 32 bits, where both forms hold the address.
    v6.to_ipv4_mapped().or_else(|| in_nat64.then(|| Ipv4Addr::from_bits(v6.to_bits() as u32)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::error::Code;

    #[test]
    fn every_case_comes_out() {
        let cases: Value =
            serde_json::from_str(include_str!("../tests/cases/ip_keys.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let ip = case["ip"].as_str().unwrap();
            let prefix = case["prefix"].as_i64().unwrap() as i32;
            match (ip_key(ip, prefix), case["expect"].as_str()) {
                (Ok(key), Some(expected)) => assert_eq!(key, expected, "{ip}"),
                (Err(error), None) => {
                    assert_eq!(
                        (error.code(), &case["error"]),
                        (Code::Invalid, &"RL_EINVAL".into())
                    );
                }
                (result, _) => panic!("{ip}: {result:?}"),
            }
        }
    }

    #[test]
    fn an_error_does_not_repeat_the_text() {
        let message = ip_key(&"secret".repeat(1_000), 0).unwrap_err().to_string();
        assert!(!message.contains("secret") && message.len() < 120, "{message}");
    }
}
