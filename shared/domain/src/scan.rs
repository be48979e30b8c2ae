//! A validating JSON scanner that walks a text once, keeps nothing and never recurses, so that nesting of any depth
//! passes. It knows nothing of Telegram.

/// Where and why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}: {what}")]
pub struct NotJson {
    /// Byte offset.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

/// A cursor over a JSON text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Offsets of U+FFFE and U+FFFF, which SQS refuses.
    pub(crate) noncharacters: Vec<usize>,
    nesting: Vec<u8>,
}

/// A number as the text has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar<'a> {
    /// An integer that fits in an `i64`, written without fraction or exponent.
    Integer(i64),
    /// A string without its quotes, escapes unresolved.
    Text(&'a str),
    /// Anything else.
    Other,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            noncharacters: Vec::new(),
            nesting: Vec::new(),
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn slice(&self, from: usize) -> &'a [u8] {
        &self.text[from..self.at]
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, NotJson> {
        Err(NotJson { at: self.at, what })
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(crate) fn whitespace(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NotJson> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fail(what)
    }

    /// Nothing but whitespace is left.
    pub(crate) fn end(&mut self) -> Result<(), NotJson> {
        self.whitespace();
        if self.at == self.text.len() {
            Ok(())
        } else {
            self.fail("bytes after the end")
        }
    }

    /// Visits each member of the object under the cursor. The visitor must consume the value. A value that is no
    /// object is skipped; `false` says so.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), NotJson>,
    ) -> Result<bool, NotJson> {
        if self.peek() != Some(b'{') {
            self.skip()?;
            return Ok(false);
        }
        self.at += 1;
        self.whitespace();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(true);
        }
        loop {
            let key = self.key()?;
            member(self, &key)?;
            self.whitespace();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.whitespace();
                }
                Some(b'}') => {
                    self.at += 1;
                    return Ok(true);
                }
                _ => return self.fail("expected `,` or `}`"),
            }
        }
    }

    /// A member's name and its colon; an escaped name is resolved, so that it is the same name.
    fn key(&mut self) -> Result<std::borrow::Cow<'a, str>, NotJson> {
        let raw = self.string()?;
        self.whitespace();
        self.expect(b':', "expected `:`")?;
        self.whitespace();
        if !raw.contains('\\') {
            return Ok(raw.into());
        }
        // Rare: a name with escapes. One that does not resolve (a lone surrogate) is no name that we look for.
        let quoted = format!("\"{raw}\"");
        Ok(serde_json::from_str::<String>(&quoted).unwrap_or_default().into())
    }

    /// The scalar under the cursor; an object or array is skipped and is `Other`.
    pub(crate) fn scalar(&mut self) -> Result<Scalar<'a>, NotJson> {
        match self.peek() {
            Some(b'"') => Ok(Scalar::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => {
                let text = self.number()?;
                Ok(text.parse().map_or(Scalar::Other, Scalar::Integer))
            }
            _ => {
                self.skip()?;
                Ok(Scalar::Other)
            }
        }
    }

    /// Consumes a string, leaves its escapes.
    fn string(&mut self) -> Result<&'a str, NotJson> {
        self.expect(b'"', "expected a string")?;
        let from = self.at;
        loop {
            match self.peek() {
                None => return self.fail("a string does not end"),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return self.fail("a control character inside a string"),
                Some(0xef) => {
                    if matches!(self.text.get(self.at + 1..self.at + 3), Some([0xbf, 0xbe | 0xbf])) {
                        self.noncharacters.push(self.at);
                    }
                    self.at += 3;
                }
                Some(_) => self.at += 1,
            }
        }
        let raw = &self.text[from..self.at];
        self.at += 1;
        // The text came in as `&str` and a string ends at ASCII quotes, so this is valid.
        std::str::from_utf8(raw).or_else(|_| self.fail("not UTF-8"))
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
                    return self.fail("a broken escape");
                }
                self.at += 6;
            }
            _ => return self.fail("a broken escape"),
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from {
            self.fail("expected a digit")
        } else {
            Ok(())
        }
    }

    fn number(&mut self) -> Result<&'a str, NotJson> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        std::str::from_utf8(&self.text[from..self.at]).or_else(|_| self.fail("not UTF-8"))
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), NotJson> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fail("expected a value")
    }

    /// Consumes one value of any kind and depth.
    pub(crate) fn skip(&mut self) -> Result<(), NotJson> {
        let base = self.nesting.len();
        loop {
            // One value, or the opening of one.
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    self.at += 1;
                    self.whitespace();
                    if self.peek() == Some(open + 2) {
                        self.at += 1;
                    } else {
                        self.nesting.push(open);
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                }
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return self.fail("expected a value"),
            }
            // What follows a value: the end of as many containers as end here, or the next value.
            loop {
                let Some(open) = (self.nesting.len() > base)
                    .then(|| self.nesting.last().copied())
                    .flatten()
                else {
                    return Ok(());
                };
                self.whitespace();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.whitespace();
                        if open == b'{' {
                            self.key()?;
                        }
                        break;
                    }
                    // `}` and `]` are two code points after their openings.
                    Some(close) if close == open + 2 => {
                        self.at += 1;
                        self.nesting.pop();
                    }
                    _ => return self.fail("expected `,` or the end of a list or object"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accepts(text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        scanner.whitespace();
        scanner.skip().and_then(|()| scanner.end()).is_ok()
    }

    #[test]
    fn it_accepts_what_json_allows_and_nothing_else() {
        for good in [
            "{}",
            "[]",
            "[1,2]",
            " {\"a\" : [true,false,null,-0.5e+3,\"\\u00e9\\n\"]} ",
            "\"\\ud83d\"",
            "0",
            "[[[]],{}]",
        ] {
            assert!(accepts(good), "{good}");
        }
        for bad in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "01",
            "1.",
            "-",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a\nb\"",
            "nul",
            "{} x",
            "[1}",
            "{\"a\":1]",
            "\"open",
        ] {
            assert!(!accepts(bad), "{bad}");
        }
    }

    #[test]
    fn nesting_of_a_hundred_thousand_levels_passes() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(accepts(&deep));
        assert!(!accepts(&deep[1..]));
    }

    proptest! {
        /// On every text it agrees with serde_json's own reader, but for what that one refuses by depth.
        #[test]
        fn it_agrees_with_serde_json(text in r#"[\[\]{}",:\\0-9eE.+\- a-ctrufalsn]{0,24}"#) {
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(accepts(&text), theirs, "{}", text);
        }
    }
}
