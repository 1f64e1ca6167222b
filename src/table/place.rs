//! Where a counter stands, in the shared table and among the rows of a store.

use siphasher::sip::SipHasher13;

/// A store's own random bytes, so that nobody can choose keys that stand in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceSecret([u8; Self::BYTES]);

impl PlaceSecret {
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// A number of which nobody can tell the secret, and that no other store has.
    pub(crate) fn store_id(&self) -> u64 {
        self.hash(b"ratelite store")
    }

    /// One half of a [`Place`]: a limit's.
    pub(crate) fn limit(&self, rule: &str, window_code: i64) -> LimitHash {
        let mut text = Vec::with_capacity(rule.len() + 8);
        text.extend_from_slice(&window_code.to_le_bytes());
        text.extend_from_slice(rule.as_bytes());
        LimitHash(self.hash(&text))
    }

    /// The other half: a key's, in its stored form.
    #[inline]
    pub(crate) fn key(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.hash(key))
    }

    pub(crate) fn place(&self, rule: &str, window_code: i64, key: &[u8]) -> Place {
        Place::new(self.limit(rule, window_code), self.key(key))
    }

    #[inline]
    fn hash(&self, text: &[u8]) -> u64 {
        SipHasher13::new_with_key(&self.0).hash(text)
    }
}

/// Of a rule's name and a window's length.
#[derive(Clone, Copy)]
pub(crate) struct LimitHash(u64);

/// Of a key.
#[derive(Clone, Copy)]
pub(crate) struct KeyHash(u64);

/// Of both. The window's start is not in it: all windows of a client stand in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    #[inline]
    pub(crate) fn new(limit: LimitHash, key: KeyHash) -> Self {
        // Folded: each bit of the product's halves depends on all bits of both.
        let product = u128::from(limit.0 ^ key.0) * 0x9E37_79B9_7F4A_7C15;
        Self((product >> 64) as u64 ^ product as u64)
    }

    /// What stands in a row: buckets are in this order, so that a batch of neighbours in the table
    /// is a batch of neighbours in the tree.
    pub(crate) fn row_hash(self) -> i64 {
        (self.0 >> 32) as i64
    }

    /// Which of so many buckets.
    #[inline]
    pub(crate) fn bucket(self, buckets: usize) -> usize {
        (((self.0 >> 32) * buckets as u64) >> 32) as usize
    }

    /// Where in its bucket to look first for a window that starts then: each window of a client has a
    /// place of its own, so that those of before are not in the way.
    #[inline]
    pub(crate) fn first(self, start_ms: i64) -> usize {
        let scattered = (start_ms as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        ((self.0 >> 28) ^ scattered) as usize & 0xF
    }

    /// Tells most of a bucket's keys apart.
    #[inline]
    pub(crate) fn fingerprint(self) -> u16 {
        self.0 as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: PlaceSecret = PlaceSecret([7; 16]);

    fn place(rule: &str, window: i64, key: &[u8]) -> Place {
        Place::new(SECRET.limit(rule, window), SECRET.key(key))
    }

    #[test]
    fn rule_window_key_and_secret_each_change_the_place() {
        let here = place("r", 60_000, b"alice");
        assert_eq!(here, place("r", 60_000, b"alice"));
        for other in
            [place("s", 60_000, b"alice"), place("r", 0, b"alice"), place("r", 60_000, b"b")]
        {
            assert_ne!(here, other);
        }
        let other = PlaceSecret([8; 16]);
        assert_ne!(here, Place::new(other.limit("r", 60_000), other.key(b"alice")));
    }

    #[test]
    fn rows_are_in_the_order_of_buckets_and_every_bucket_is_used() {
        let mut places: Vec<_> =
            (0..100_000u32).map(|key| place("r", 1_000, &key.to_le_bytes())).collect();
        places.sort_by_key(|place| place.row_hash());
        let buckets: Vec<_> = places.iter().map(|place| place.bucket(1_000)).collect();
        assert!(buckets.is_sorted());
        let most = buckets.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        assert_eq!(buckets.iter().collect::<std::collections::HashSet<_>>().len(), 1_000);
        assert!(most < Some(200), "{most:?}");
        assert!((0..16).all(|first| places.iter().any(|place| place.first(0) == first)));
    }
}
