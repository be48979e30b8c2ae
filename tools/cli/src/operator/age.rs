//! Ages, as people write and read them. Pure.

use std::time::Duration;

/// Units, the longest first: letter, seconds, name.
const UNITS: [(char, u64, &str); 4] = [
    ('d', 86_400, "d"),
    ('h', 3_600, "h"),
    ('m', 60, "min"),
    ('s', 1, "s"),
];

/// `3 d`, `2 h`, `15 min`, `40 s`: rounded down to one unit.
pub(crate) fn told(age: Duration) -> String {
    let seconds = age.as_secs();
    UNITS.iter().find(|(_, unit, _)| seconds >= *unit).map_or_else(
        || "0 s".to_owned(),
        |(_, unit, name)| format!("{} {name}", seconds / unit),
    )
}

/// Reads `90s`, `15m`, `2h` or `3d`.
pub(crate) fn read(text: &str) -> Result<Duration, String> {
    let wrong = || "give an age, for example 90s, 15m, 2h or 3d".to_owned();
    let letter = text.chars().last().ok_or_else(wrong)?;
    let (_, unit, _) = UNITS
        .iter()
        .find(|(name, ..)| *name == letter)
        .ok_or_else(wrong)?;
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    count
        .checked_mul(*unit)
        .map(Duration::from_secs)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_read_as_it_is_written() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("2h", 7_200), ("3d", 259_200)] {
            assert_eq!(read(text), Ok(Duration::from_secs(seconds)));
        }
        for wrong in [
            "",
            "s",
            "5",
            "-1h",
            "1w",
            "é",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_age_is_told_in_its_longest_unit() {
        let all = [0, 59, 60, 3_600, 90_000].map(|seconds| told(Duration::from_secs(seconds)));
        assert_eq!(all, ["0 s", "59 s", "1 min", "1 h", "1 d"]);
    }
}
