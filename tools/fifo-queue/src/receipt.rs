//! Receipt handles: which message, and which of its receives. A handle carries no right by itself; it is
//! compared with the stored receive count, so an older one of the same message is recognised as stale.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Number of bytes of the four numbers.
const NUMBERS: usize = 32;
/// Number of bytes of the check sum: enough to tell a typing error from a handle.
const CHECK: usize = 6;

/// A decoded handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) queue_id: i64,
    pub(crate) group_id: i64,
    pub(crate) seq: i64,
    /// Receive count at the receive that gave the handle out.
    pub(crate) receive: i64,
}

impl Receipt {
    pub(crate) fn encode(self) -> String {
        let mut bytes = Vec::with_capacity(NUMBERS + CHECK);
        for number in [self.queue_id, self.group_id, self.seq, self.receive] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let check = Sha256::digest(&bytes);
        bytes.extend_from_slice(&check[..CHECK]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `None` for anything that this engine did not give out.
    pub(crate) fn decode(handle: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(handle).ok()?;
        if bytes.len() != NUMBERS + CHECK {
            return None;
        }
        let (numbers, check) = bytes.split_at(NUMBERS);
        if Sha256::digest(numbers)[..CHECK] != *check {
            return None;
        }
        let mut numbers = numbers
            .chunks_exact(8)
            .map(|eight| eight.try_into().map(i64::from_be_bytes).unwrap_or_default());
        Some(Self {
            queue_id: numbers.next()?,
            group_id: numbers.next()?,
            seq: numbers.next()?,
            receive: numbers.next()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_survives_the_round_trip() {
        let receipt = Receipt {
            queue_id: 3,
            group_id: i64::MAX,
            seq: 7,
            receive: 1,
        };
        assert_eq!(Receipt::decode(&receipt.encode()), Some(receipt));
    }

    #[test]
    fn changed_handle_is_not_a_handle() {
        let handle = Receipt {
            queue_id: 3,
            group_id: 4,
            seq: 7,
            receive: 1,
        }
        .encode();
        for index in 0..handle.len() {
            let mut changed = handle.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(
                Receipt::decode(std::str::from_utf8(&changed).unwrap()),
                None,
                "position {index}"
            );
        }
        assert_eq!(Receipt::decode("garbage"), None);
        assert_eq!(Receipt::decode(""), None);
    }
}
