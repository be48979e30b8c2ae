//! What SQS refuses inside a JSON text, escaped. Never changes what the text means.

use std::borrow::Cow;

/// U+FFFE and U+FFFF as escapes. In JSON these characters can only stand inside strings, so an escape is equal to each.
pub(crate) fn escape_noncharacters(json: &str) -> Cow<'_, str> {
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        return Cow::Owned(json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff"));
    }
    Cow::Borrowed(json)
}
