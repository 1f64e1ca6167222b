//! Keys: who a hit is counted for, in the form that a store keeps.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::error::{Code, Error, Result};

/// The longest key that is kept as it is.
const PLAIN_BYTES: usize = 72;

/// How much of a longer key is kept, for people who read the store.
const HEAD_BYTES: usize = 40;

const HASH_BYTES: usize = 32;

/// One more than [`PLAIN_BYTES`], so that no short key can equal the form of a long one.
const STORED_BYTES: usize = HEAD_BYTES + 1 + HASH_BYTES;

/// A whole number of words.
const BUFFER_BYTES: usize = STORED_BYTES.next_multiple_of(8);

/// A key as it is stored, without allocation. There is no `Debug`: a key belongs in no message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C, align(16))] // read in words right after it was written
pub(crate) struct StoredKey {
    /// Zeros follow the key.
    bytes: [u8; BUFFER_BYTES],
    len: u8,
}

impl StoredKey {
    /// No key yet.
    pub(crate) const EMPTY: Self = Self { bytes: [0; BUFFER_BYTES], len: 0 };

    /// Takes a caller's key, of any bytes; an empty one is [`Code::Invalid`].
    ///
    /// Up to 72 bytes are kept as they are. Of a longer key the first 40 bytes are, then `#` and
    /// the SHA-256 of the whole. With a secret it is the HMAC-SHA-256 of the whole key instead.
    #[inline(always)]
    pub(crate) fn set(&mut self, key: &[u8], secret: Option<&Secret>) -> Result<()> {
        if key.is_empty() {
            return Err(Error::invalid("the key is empty: give bytes that identify the client"));
        }
        if secret.is_some() || key.len() > PLAIN_BYTES {
            *self = Self::hashed(key, secret);
            return Ok(());
        }
        *self = Self::EMPTY;
        self.len = key.len() as u8;
        // By words, as it is read: a processor takes 5 ns to read at once what was written in parts.
        let (words, rest) = key.as_chunks::<8>();
        let (places, _) = self.bytes.as_chunks_mut::<8>();
        for (place, word) in places.iter_mut().zip(words) {
            *place = *word;
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            for (place, byte) in last.iter_mut().zip(rest) {
                *place = *byte;
            }
            places[words.len()] = last;
        }
        Ok(())
    }

    #[cold]
    fn hashed(key: &[u8], secret: Option<&Secret>) -> Self {
        match secret {
            Some(secret) => Self::concat([&secret.hash(key)]),
            None => Self::concat([&key[..HEAD_BYTES], b"#", Sha256::digest(key).as_slice()]),
        }
    }

    /// The bytes to store and to compare: 1 to 73.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The `at`-th word of the stored form, the last one padded with zeros. That of a long key has no
    /// `#` in it.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        let skipped = usize::from(usize::from(self.len) == STORED_BYTES && at * 8 >= HEAD_BYTES);
        let start = at * 8 + skipped;
        self.bytes[start..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// The length of the longest stored form.
    pub(crate) const LONGEST: usize = STORED_BYTES;

    /// From `length` bytes, the `#` of a long key left out.
    pub(crate) fn without_mark(bytes: &[u8], length: u8) -> Self {
        if usize::from(length) == STORED_BYTES {
            let (head, hash) = bytes.split_at(HEAD_BYTES);
            return Self::concat([head, b"#", &hash[..HASH_BYTES]]);
        }
        Self::concat([&bytes[..usize::from(length)]])
    }

    fn concat<const N: usize>(parts: [&[u8]; N]) -> Self {
        let mut bytes = [0; BUFFER_BYTES];
        let mut len = 0;
        for part in parts {
            bytes[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        }
        Self { len: len as u8, bytes }
    }
}

/// What a store keeps to recognize the secret that its keys are hashed under.
pub(crate) type SecretCheck = [u8; 16];

/// The secret under which keys are hashed, ready for use.
pub(crate) struct Secret(Hmac<Sha256>);

impl Secret {
    /// Takes the bytes of a secret, of any length but 0, which is [`Code::Invalid`].
    pub(crate) fn new(secret: &[u8]) -> Result<Self> {
        if secret.is_empty() {
            return Err(Error::invalid("key_secret is empty: give random bytes, or no secret"));
        }
        Hmac::new_from_slice(secret)
            .map(Self)
            .map_err(|_| Error::new(Code::Internal, "HMAC refused key_secret"))
    }

    /// What a store keeps to recognize the secret: 16 bytes that tell nothing about it nor about
    /// any key, since they are the hash of a label.
    pub(crate) fn check(&self) -> SecretCheck {
        let mut check = [0; 16];
        check.copy_from_slice(&self.hash(b"ratelite key_secret check")[..16]);
        check
    }

    fn hash(&self, text: &[u8]) -> [u8; HASH_BYTES] {
        self.0.clone().chain_update(text).finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(key: &[u8], secret: Option<&Secret>) -> Result<StoredKey> {
        let mut stored = StoredKey::EMPTY;
        stored.set(key, secret)?;
        Ok(stored)
    }

    fn stored(key: &[u8]) -> Vec<u8> {
        kept(key, None).ok().unwrap().as_bytes().to_vec()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn an_empty_key_or_secret_is_an_argument_error() {
        let secret = Secret::new(b"s").ok().unwrap();
        for secret in [None, Some(&secret)] {
            assert_eq!(kept(b"", secret).err().unwrap().code(), Code::Invalid);
        }
        assert_eq!(Secret::new(b"").err().unwrap().code(), Code::Invalid);
    }

    #[test]
    fn up_to_72_bytes_are_kept_as_they_are() {
        for key in [&b"a"[..], b"\0", b" alice ", b"\xff\xfe\0", &[b'x'; 72]] {
            assert_eq!(stored(key), key);
        }
    }

    #[test]
    fn a_longer_key_keeps_40_bytes_and_the_hash_of_the_whole() {
        let key = stored(&[b'x'; 73]);
        assert_eq!(key.len(), 73);
        assert_eq!(&key[..41], [&[b'x'; 40][..], b"#"].concat());
        // printf 'x%.0s' {1..73} | sha256sum
        assert_eq!(
            hex(&key[41..]),
            "71b07785703e311e58ec20b25a30357f6cf1c290f181492c4b429bb984de61ca"
        );
        assert_ne!(stored(&[b'x'; 74]), key);
        assert_eq!(stored(&[b'x'; 100_000]).len(), 73);
    }

    #[test]
    fn no_short_key_equals_a_long_one() {
        let long = stored(&[b'x'; 73]);
        assert_ne!(stored(&long), long);
        assert_ne!(stored(&long[..72]), long);
    }

    #[test]
    fn a_key_under_a_secret_is_its_hmac() {
        // RFC 4231, test cases 2 and 6 (a secret longer than a block)
        for (secret, key, hmac) in [
            (
                &b"Jefe"[..],
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let secret = Secret::new(secret).ok().unwrap();
            let key = kept(key, Some(&secret)).ok().unwrap();
            assert_eq!(hex(key.as_bytes()), hmac);
        }
    }

    #[test]
    fn the_check_value_tells_secrets_apart_and_nothing_else() {
        let [a, again, b] = [b"a", b"a", b"b"].map(|s| Secret::new(s).ok().unwrap().check());
        assert_eq!(a, again);
        assert_ne!(a, b);
    }
}
