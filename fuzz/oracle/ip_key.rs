//! Any text as an address: one byte of prefix, two of buffer size, then the text.

use std::net::{IpAddr, Ipv6Addr};

use ratelite::capi::*;

use super::call;
use super::input::{Input, c_text};

pub fn ip_key(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let prefix = i32::from(input.byte()) - 64;
    let cap = usize::from(input.byte());
    let ip = c_text(input.rest());
    let key = |ip: &std::ffi::CStr, cap| {
        // SAFETY: a text, and a buffer of the size that is told.
        let write = |buf, cap| unsafe { rl_ip_key(ip.as_ptr(), prefix, buf, cap) };
        call::text(cap, &[RL_EINVAL], write)
    };
    let Ok(found) = key(&ip, cap) else {
        let is_address = ip.to_str().is_ok_and(|ip| ip.parse::<IpAddr>().is_ok());
        assert!(!is_address || !(0..=128).contains(&prefix), "{ip:?} was refused");
        return;
    };
    assert!(found.len() < 44, "{found}");
    let bits = if prefix == 0 { 64 } else { prefix as u32 };
    match found.split_once('/') {
        None => {
            assert!(found.parse::<std::net::Ipv4Addr>().is_ok(), "{found}");
            assert_eq!(key(&c_text(found.as_bytes()), 44).as_deref(), Ok(&found[..]));
        }
        Some((network, length)) => {
            assert_eq!(length.parse(), Ok(bits), "{found}");
            let network: Ipv6Addr = network.parse().expect("an IPv6 network");
            assert_eq!(network.to_bits() & !(u128::MAX << (128 - bits)), 0, "{found}");
            // Every address of the network has its key, but for those that hold an IPv4 one.
            let last = Ipv6Addr::from_bits(network.to_bits() | !(u128::MAX << (128 - bits)));
            if last.to_ipv4_mapped().is_none() && !last.segments().starts_with(&NAT64) {
                assert_eq!(key(&c_text(last.to_string().as_bytes()), 44), Ok(found));
            }
        }
    }
}

const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];
