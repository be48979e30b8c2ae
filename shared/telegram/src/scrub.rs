//! Makes a text that came over the wire fit to be kept: without the token, without URLs, without what people wrote.
//! Never sees a body: only descriptions and the causes of transport errors.

use penstock_domain::secret::BotToken;

/// Longest description kept, in bytes. Telegram's own texts have at most some 150.
const MAX_BYTES: usize = 300;

/// Shortest secret half of a token that is also looked for by itself. Real ones have 35 characters; replacing a very
/// short one would only garble the text.
const MIN_SECRET_CHARS: usize = 8;

/// The text without the token, without URLs, with what stands between quotes left out (Telegram quotes the user's
/// markup there), cut to [`MAX_BYTES`].
pub(crate) fn scrub(text: &str, token: &BotToken) -> String {
    let mut clean = text.to_owned();
    for secret in secrets(token) {
        clean = clean.replace(secret, "[redacted]");
    }
    cut(&without_urls(&without_quotes(&clean))).to_owned()
}

fn secrets(token: &BotToken) -> impl Iterator<Item = &str> {
    let whole = Some(token.reveal()).filter(|token| !token.is_empty());
    let half = token
        .reveal()
        .split_once(':')
        .map(|(_, half)| half)
        .filter(|half| half.len() >= MIN_SECRET_CHARS);
    whole.into_iter().chain(half)
}

/// From the first quote to the last one: quoted markup may hold quotes itself.
fn without_quotes(text: &str) -> String {
    let Some(first) = text.find('"') else {
        return text.to_owned();
    };
    let last = text
        .rfind('"')
        .filter(|last| *last > first)
        .unwrap_or(text.len() - 1);
    format!("{}\"...\"{}", &text[..first], &text[last + 1..])
}

fn without_urls(text: &str) -> String {
    let words = text
        .split(' ')
        .map(|word| if word.contains("://") { "[url]" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        scrub(text, &BotToken::new("4242:AAbbCCddEEff".to_owned()))
    }

    #[test]
    fn a_plain_text_is_kept_as_it_is() {
        assert_eq!(
            clean("Bad Request: chat not found"),
            "Bad Request: chat not found"
        );
    }

    #[test]
    fn the_token_and_its_secret_half_are_left_out() {
        assert_eq!(clean("no 4242:AAbbCCddEEff here"), "no [redacted] here");
        assert_eq!(
            clean("no /bot4242%3AAAbbCCddEEff here"),
            "no /bot4242%3A[redacted] here"
        );
    }

    #[test]
    fn a_token_without_a_value_garbles_nothing() {
        assert_eq!(scrub("abc", &BotToken::new(String::new())), "abc");
    }

    #[test]
    fn quoted_words_are_left_out_even_when_a_quote_is_open_or_nested() {
        let text = "can't parse entities: unsupported start tag \"Mara \"M\" Muster\" at byte offset 7";
        assert_eq!(
            clean(text),
            "can't parse entities: unsupported start tag \"...\" at byte offset 7"
        );
        assert_eq!(clean("expected \"Mara"), "expected \"...\"");
        assert_eq!(clean("é\""), "é\"...\"");
        assert_eq!(clean("\"é"), "\"...\"");
    }

    #[test]
    fn urls_are_left_out() {
        assert_eq!(
            clean("can't load https://example.org/a?b now"),
            "can't load [url] now"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let cut = clean(&"é".repeat(400));
        assert_eq!(cut.len(), MAX_BYTES);
        assert_eq!(clean(&format!("a{}", "é".repeat(400))).len(), MAX_BYTES - 1);
    }
}
