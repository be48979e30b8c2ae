//! Makes the beginning of an answer fit to be kept for the owner: without what people wrote, without secrets.
//!
//! An error page may quote the request. So every word of it that the Update has among its texts and names is taken out,
//! however it is escaped; with them tokens, the secret, the URL, e-mail addresses, long numbers and opaque runs. What is
//! left are the words of the backend itself. It errs on the side of masking: a backend that fails in the words of its
//! user shows little.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use penstock_domain::failure::MAX_MESSAGE_BYTES;
use penstock_ports::Excerpt;
use regex_lite::Regex;

use crate::escapes::{UNKNOWN, undo};

/// What stands for what is left out.
const MASK: &str = "***";

/// How much of a body is looked at, in bytes: after masking no more than an excerpt is left of it anyway.
const MAX_LOOKED_AT: usize = 16 * 1024;

/// Longest excerpt, in bytes: what a stored failure keeps, less some room for the message itself.
const MAX_EXCERPT: usize = MAX_MESSAGE_BYTES - 512;

/// Shortest secret that is looked for by itself: one that is shorter would only garble the text.
const MIN_SECRET: usize = 4;
/// Shortest word that is taken out where it is the same: a single letter says nothing of anybody.
const MIN_SAME: usize = 2;
/// Shortest beginning of a word that is taken out: a page may cut what it quotes.
const MIN_BEGINNING: usize = 4;
/// Shortest word that is also found inside others.
const MIN_INSIDE: usize = 5;
/// Longest word that is kept, in characters. What is longer is a key, a hash or encoded.
const MAX_WORD: usize = 40;
/// From here on scripts are written without spaces (CJK radicals and all after them), so that words are runs.
const UNSPACED: char = '\u{2e80}';

/// A bot's token; long digit groups; addresses; URLs. The shapes, not the values.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"[0-9]+:[A-Za-z0-9_-]{35}",
        r"|[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\x22']+",
        r"|[^\s@<>\x22'(),:;]+@[^\s@<>\x22'(),:;]+",
        r"|\+?[0-9](?:[ ().-]{0,2}[0-9]){5,}",
    ))
    .ok()
});

/// What has to be taken out of an answer.
#[derive(Default)]
pub(crate) struct Mask {
    words: BTreeSet<String>,
    pairs: HashSet<[char; 2]>,
    secrets: Vec<String>,
}

impl Mask {
    /// A mask for answers to that Update. `secrets` are texts that must not show: the secret, the URL and its parts.
    pub(crate) fn of<'a>(update: &str, secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut mask = Self {
            secrets: secrets
                .into_iter()
                .filter(|secret| secret.len() >= MIN_SECRET)
                .map(|secret| undo(secret.as_bytes()))
                .collect(),
            ..Self::default()
        };
        // The longest first: what is a part of another would leave the rest of it.
        mask.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for text in texts(update) {
            let text = undo(text.as_bytes());
            for word in text.split(is_between).filter(|word| !word.is_empty()) {
                let word = word.to_lowercase();
                if is_unspaced(&word) {
                    let chars: Vec<char> = word.chars().collect();
                    mask.pairs.extend(pairs(&chars));
                }
                mask.words.insert(word);
            }
        }
        mask
    }

    /// The beginning of an answer, masked.
    pub(crate) fn excerpt(&self, body: &[u8]) -> Excerpt {
        let looked_at = &body[..body.len().min(MAX_LOOKED_AT)];
        let mut text = undo(looked_at);
        if looked_at.len() < body.len() {
            // The last word may be cut in two.
            text.truncate(text.rfind(is_between).unwrap_or(0));
        }
        for secret in &self.secrets {
            text = text.replace(secret, MASK);
        }
        let text = match &*SHAPES {
            Some(shapes) => shapes.replace_all(&text, MASK).into_owned(),
            // Without the shapes nothing is safe to be kept.
            None => String::new(),
        };
        Excerpt::masked(cut(&self.without_words(&text)).to_owned())
    }

    fn without_words(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_between) {
            let word = piece.trim_end_matches(is_between);
            masked.push_str(if self.hides(word) { MASK } else { word });
            masked.extend(piece[word.len()..].chars().filter_map(plain));
        }
        masked
    }

    fn hides(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let chars: Vec<char> = word.chars().collect();
        if chars.len() > MAX_WORD || chars.contains(&UNKNOWN) {
            return true;
        }
        if is_unspaced(&word) {
            return self.words.contains(&word) || pairs(&chars).any(|pair| self.pairs.contains(&pair));
        }
        (chars.len() >= MIN_SAME && self.words.contains(&word))
            || (chars.len() >= MIN_BEGINNING && self.begins_a_word(&word))
            || self.holds_a_word(&word)
    }

    fn begins_a_word(&self, beginning: &str) -> bool {
        self.words
            .range(beginning.to_owned()..)
            .next()
            .is_some_and(|word| word.starts_with(beginning))
    }

    fn holds_a_word(&self, word: &str) -> bool {
        let bounds: Vec<usize> = word
            .char_indices()
            .map(|(at, _)| at)
            .chain([word.len()])
            .collect();
        bounds.iter().enumerate().any(|(n, from)| {
            bounds[n..]
                .iter()
                .skip(MIN_INSIDE)
                .any(|to| self.words.contains(&word[*from..*to]))
        })
    }
}

/// What separates words. A character that cannot be told is a part of a word, which is masked as a whole then.
fn is_between(char: char) -> bool {
    !char.is_alphanumeric() && char != UNKNOWN
}

fn pairs(chars: &[char]) -> impl Iterator<Item = [char; 2]> {
    chars
        .iter()
        .zip(chars.iter().skip(1))
        .map(|(first, second)| [*first, *second])
}

fn is_unspaced(word: &str) -> bool {
    word.chars().any(|char| char >= UNSPACED && char != UNKNOWN)
}

/// What is kept of what separates words: signs and spaces of ASCII, no emoji.
fn plain(char: char) -> Option<char> {
    match char {
        ' '..='~' | '\n' => Some(char),
        _ if char.is_whitespace() => Some(' '),
        _ => None,
    }
}

/// The string values of a JSON text as they are written; names of members are left out. It never fails: Telegram's
/// nesting and surrogates need no tree.
fn texts(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let from = rest.find('"')? + 1;
            let length = string_length(&rest[from..]);
            let text = &rest[from..from + length];
            rest = rest.get(from + length + 1..).unwrap_or_default();
            if !rest.trim_start().starts_with(':') {
                return Some(text);
            }
        }
    })
}

/// Bytes up to the quote that ends a string.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    text.bytes()
        .position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        })
        .unwrap_or(text.len())
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_EXCERPT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim()
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
