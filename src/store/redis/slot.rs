//! Which part of a cluster a key belongs to.

/// The number of a key's slot, by the cluster specification: the CRC of what stands in the first pair
/// of braces, or of the whole key.
pub(super) fn of(key: &[u8]) -> u16 {
    const SLOTS: u16 = 16_384;
    crc16(tag(key)) % SLOTS
}

fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else { return key };
    let inner = &key[open + 1..];
    match inner.iter().position(|&byte| byte == b'}') {
        None | Some(0) => key,
        Some(length) => &inner[..length],
    }
}

/// CRC-16/XMODEM: polynomial 0x1021, from 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, &byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        assert_eq!(crc16(b"123456789"), 0x31C3); // of the cluster specification
        // CLUSTER KEYSLOT of a server
        for (key, slot) in
            [(&b"foo"[..], 12_182), (b"a{foo}b", 12_182), (b"{}foo", 9_500), (b"a{foo", 113)]
        {
            assert_eq!(of(key), slot, "{}", String::from_utf8_lossy(key));
        }
    }
}
