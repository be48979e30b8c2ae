//! Undoes what error pages do to a text that they quote: JSON and Python escapes, HTML entities, percent encoding. Only
//! for masking: what it makes of a text is never sent anywhere.

/// How often a text may be escaped over and over. JSON inside JSON inside HTML is three.
const PASSES: usize = 3;

/// What stands for a character that cannot be told: a broken byte, an entity that is not known.
pub(crate) const UNKNOWN: char = char::REPLACEMENT_CHARACTER;

/// Digits of the longest entity (`&#x10FFFF;`, `&CounterClockwiseContourIntegral;`).
const LONGEST_ENTITY: usize = 33;

/// The text with its escapes undone, as often as it was escaped.
pub(crate) fn undo(bytes: &[u8]) -> String {
    let mut text = once(bytes);
    for _ in 1..PASSES {
        let next = once(text.as_bytes());
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn once(bytes: &[u8]) -> String {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let undone = match byte {
            b'\\' => backslash(&bytes[at..]),
            b'%' => hex(bytes, at + 1, 2).map(|code| (Undone::Byte(code), 3)),
            b'&' => entity(&bytes[at..]),
            _ => None,
        };
        let Some((undone, length)) = undone else {
            plain.push(*byte);
            at += 1;
            continue;
        };
        at += length;
        match undone {
            Undone::Byte(byte) => plain.extend(u8::try_from(byte)),
            Undone::Char(code) => {
                let mut space = [0; 4];
                let char = char::from_u32(code).unwrap_or(UNKNOWN);
                plain.extend_from_slice(char.encode_utf8(&mut space).as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

enum Undone {
    Byte(u32),
    Char(u32),
}

fn hex(bytes: &[u8], from: usize, digits: usize) -> Option<u32> {
    let digits = bytes.get(from..from + digits)?;
    digits.iter().try_fold(0, |code, digit| {
        Some(code * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// What a backslash begins, and how many bytes it takes.
fn backslash(bytes: &[u8]) -> Option<(Undone, usize)> {
    let char = |char: char, length| Some((Undone::Char(u32::from(char)), length));
    match bytes.get(1)? {
        b'u' => {
            let first = hex(bytes, 2, 4)?;
            let second = (bytes.get(6..8) == Some(b"\\u"))
                .then(|| hex(bytes, 8, 4))
                .flatten();
            match (first, second) {
                (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                    let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                    Some((Undone::Char(code), 12))
                }
                _ => Some((Undone::Char(first), 6)),
            }
        }
        b'U' => Some((Undone::Char(hex(bytes, 2, 8)?), 10)),
        b'x' => Some((Undone::Byte(hex(bytes, 2, 2)?), 4)),
        b'n' => char('\n', 2),
        b'r' => char('\r', 2),
        b't' => char('\t', 2),
        b'b' | b'f' => char(' ', 2),
        quoted @ (b'"' | b'\'' | b'\\' | b'/') => char(char::from(*quoted), 2),
        _ => None,
    }
}

/// What an ampersand begins, and how many bytes it takes.
fn entity(bytes: &[u8]) -> Option<(Undone, usize)> {
    let end = bytes.iter().take(LONGEST_ENTITY).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&bytes[1..end]).ok()?;
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => match name {
            "amp" => u32::from('&'),
            "lt" => u32::from('<'),
            "gt" => u32::from('>'),
            "quot" => u32::from('"'),
            "apos" => u32::from('\''),
            "nbsp" => u32::from(' '),
            _ if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                u32::from(UNKNOWN)
            }
            _ => return None,
        },
    };
    Some((Undone::Char(code), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pages_do_to_a_text_is_undone() {
        for (escaped, plain) in [
            (r"Zo\u00eb \ud83d\ude00", "Zoë 😀"),
            (r"b'Zo\xc3\xab'", "b'Zoë'"),
            (r"\U0001F600", "😀"),
            ("Zo%C3%AB+B", "Zoë+B"),
            ("Zo&#235; &#xEB; &lt;b&gt; &amp;", "Zoë ë <b> &"),
            (r#"a\nBob\t\"x\/"#, "a\nBob\t\"x/"),
            (r"\\u00eb", "ë"),
            ("&amp;lt;", "<"),
            ("100% of a & b; \\q \\u12", "100% of a & b; \\q \\u12"),
            ("Jos&eacute;", "Jos\u{fffd}"),
            (r"\ud83d", "\u{fffd}"),
        ] {
            assert_eq!(undo(escaped.as_bytes()), plain, "{escaped}");
        }
        assert_eq!(undo(b"\xc7\xe0"), "\u{fffd}\u{fffd}");
    }
}
