//! Updates that are too big to commit: made from a number, the same every time, and hard to compress.
//! Never random.

/// The largest Update that Telegram keeps (TDLib, `TQueue.cpp`: 512 KiB).
pub const LARGEST_UPDATE_BYTES: usize = 512 * 1024;
/// More than ingress accepts (its limit is 700 KiB).
pub(crate) const TOO_LARGE_BYTES: usize = 720 * 1024;

/// 64 characters that JSON leaves as they are: six bits each, so that a compressor saves a quarter and no more.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A text message of exactly `bytes` bytes (at least the few hundred that its frame takes).
pub(crate) fn update(update_id: i64, bytes: usize) -> Vec<u8> {
    let head = format!(
        "{{\"update_id\":{update_id},\n\"message\":{{\"message_id\":900,\"from\":{{\"id\":700000003,\"is_bot\":false,\
         \"first_name\":\"Cleo\",\"last_name\":\"Test\",\"username\":\"cleo_test\",\"language_code\":\"zh-hans\",\
         \"is_premium\":true}},\"chat\":{{\"id\":700000003,\"first_name\":\"Cleo\",\"last_name\":\"Test\",\
         \"username\":\"cleo_test\",\"type\":\"private\"}},\"date\":1789000900,\"text\":\""
    );
    let tail = "\"}}";
    let filling = bytes.saturating_sub(head.len() + tail.len());
    let mut raw = head.into_bytes();
    raw.reserve_exact(filling + tail.len());
    // SplitMix64: every state is good, so the id can be the seed. Ten characters are drawn from each of its numbers.
    let mut state = update_id.unsigned_abs();
    let mut left = filling;
    while left > 0 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        for _ in 0..left.min(10) {
            raw.push(ALPHABET[(mixed & 63) as usize]);
            mixed >>= 6;
            left -= 1;
        }
    }
    raw.extend_from_slice(tail.as_bytes());
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_update_has_exactly_the_length_asked_for_and_is_an_update() {
        for bytes in [1_000, 1_001, LARGEST_UPDATE_BYTES] {
            let raw = update(7, bytes);
            assert_eq!(raw.len(), bytes);
            assert_eq!(penstock_domain::route::route(&raw).unwrap().update_id.0, 7);
        }
    }

    #[test]
    fn it_is_the_same_every_time_and_another_for_another_id() {
        assert_eq!(update(7, 2_000), update(7, 2_000));
        assert_ne!(update(7, 2_000), update(8, 2_000));
    }

    #[test]
    fn its_text_uses_every_character_about_as_often() {
        let raw = update(7, LARGEST_UPDATE_BYTES);
        let mean = raw.len() / ALPHABET.len();
        for character in ALPHABET {
            let count = raw.iter().filter(|byte| *byte == character).count();
            assert!(
                count > mean / 2 && count < mean * 2,
                "{} stands {count} times",
                *character as char
            );
        }
    }
}
