//! Pages that quote the request in the ways that frameworks do.

use super::*;
use proptest::prelude::*;

const UPDATE: &str = r#"{"update_id":7,"message":{"chat":{"id":99,"type":"private"},"from":{"id":99,"first_name":"Zo\u00eb","last_name":"Al","username":"zoe_b"},"text":"My cat Mimi \"likes\" \u4f60\u597d\u5417"}}"#;
const SECRET: &str = "hook-secret_1";
const URL_PATH: &str = "/hook/of/mine";

fn masked(page: &str) -> String {
    Mask::of(UPDATE, [SECRET, URL_PATH])
        .excerpt(page.as_bytes())
        .as_str()
        .to_owned()
}

#[test]
fn the_words_of_the_backend_itself_are_kept() {
    let page = "TypeError: cannot read 'id' of undefined\n    at handler (/app/src/bot.js:42:7)";
    assert_eq!(masked(page), page);
    assert_eq!(
        masked(r#"{"error":"db down","message":"try later"}"#),
        r#"{"error":"db down","message":"try later"}"#
    );
}

#[test]
fn names_of_members_are_no_words_of_people() {
    assert_eq!(texts(UPDATE).collect::<Vec<_>>().len(), 5);
    assert_eq!(
        masked("no chat, no username, no text"),
        "no chat, no username, no text"
    );
}

#[test]
fn what_people_wrote_is_left_out_however_it_is_escaped() {
    for page in [
        "Zoë",
        "ZOË",
        r"Zo\u00eb",
        r"Zo\\u00eb",
        "Zo%C3%AB",
        "Zo&#235;",
        "Zo&#xeb;",
        "Zo&euml;",
        r"b'Zo\xc3\xab'",
        "Mimi",
        r"\nMimi\n",
        "likes",
        "lik\u{e9}s likes",
        "Al",
        "你好",
        r"\u4f60\u597d",
        "说你好啊",
        "zoe_b",
        "xxlikesxx",
        "Likes2",
    ] {
        let kept = masked(&format!("bad: {page} ."));
        let words: Vec<_> = kept.split(is_between).filter(|word| !word.is_empty()).collect();
        let harmless = ["bad", "b", "lik", "s", "likés"];
        assert!(words.iter().all(|word| harmless.contains(word)), "{page}: {kept}");
    }
}

#[test]
fn a_word_that_a_page_has_cut_is_left_out() {
    let mask = Mask::of(r#"{"text":"Alexandrowitsch"}"#, []);
    assert_eq!(mask.excerpt(b"of Alexandro...").as_str(), "of ***...");
    let long = format!("{} Alexandrowitsch", "x ".repeat(MAX_LOOKED_AT / 2 - 3));
    assert!(!mask.excerpt(long.as_bytes()).as_str().contains("Al"));
}

#[test]
fn secrets_and_what_looks_like_one_are_left_out() {
    let token = "123456:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr";
    for (page, kept) in [
        (format!("token {token} here"), "token *** here"),
        (format!("secret {SECRET}!"), "secret ***!"),
        (format!("Cannot POST {URL_PATH}"), "Cannot POST ***"),
        ("see https://example.org/a?b=c now".to_owned(), "see *** now"),
        ("mail a.b@example.org now".to_owned(), "mail *** now"),
        ("call +49 (170) 123-45 67 now".to_owned(), "call *** now"),
        ("user 123456789 now".to_owned(), "user *** now"),
        ("line 4211:7 now".to_owned(), "line 4211:7 now"),
        (format!("key {} now", "aZ09".repeat(11)), "key *** now"),
        ("smile 😀 \u{7}now".to_owned(), "smile  now"),
    ] {
        assert_eq!(masked(&page), kept);
    }
}

#[test]
fn bytes_of_another_encoding_are_left_out() {
    let page = [b"bad \xc7\xee\xff now".as_slice()].concat();
    assert_eq!(Mask::of(UPDATE, []).excerpt(&page).as_str(), "bad *** now");
}

#[test]
fn an_excerpt_is_never_longer_than_what_is_stored() {
    let page = "word é ".repeat(50_000);
    let kept = masked(&page);
    assert!(
        kept.len() <= MAX_EXCERPT && kept.len() > MAX_EXCERPT - 8,
        "{}",
        kept.len()
    );
}

fn quoted(text: &str, how: usize) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    match how {
        0 => text.to_owned(),
        1 => json,
        2 => text
            .chars()
            .map(|char| format!("&#{};", u32::from(char)))
            .collect(),
        3 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        4 => text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
        5 => serde_json::to_string(&quoted(text, 4)).unwrap_or_default(),
        6 => serde_json::to_string(&json).unwrap_or_default(),
        _ => text.to_uppercase(),
    }
}

proptest! {
    /// No word of two or more letters that somebody wrote comes through, whichever way a page quotes the text.
    #[test]
    fn no_word_of_the_update_comes_through(text in "[\\PC]{0,40}", how in 0_usize..8) {
        let update = serde_json::json!({"message": {"text": text}}).to_string();
        let page = format!("<p>{}</p>", quoted(&text, how));
        let kept = Mask::of(&update, []).excerpt(page.as_bytes()).as_str().to_lowercase();
        let kept: BTreeSet<&str> = kept.split(is_between).collect();
        let written = undo(text.as_bytes()).to_lowercase();
        for word in written.split(is_between).filter(|word| word.chars().count() >= MIN_SAME) {
            prop_assert!(!kept.contains(word), "{word:?} of {text:?} is in {kept:?}");
        }
    }

    /// The secret never comes through.
    #[test]
    fn no_secret_comes_through(secret in "[A-Za-z0-9_-]{8,64}", how in 0_usize..7, around in "[a-z ]{0,9}") {
        let page = format!("{around}{}{around}", quoted(&secret, how));
        let kept = Mask::of("{}", [secret.as_str()]).excerpt(page.as_bytes());
        prop_assert!(!kept.as_str().contains(&secret));
    }
}
