//! Instants as the two notations that a request has. Never reads a clock.

use penstock_domain::time::Timestamp;
use time::OffsetDateTime;

/// Nanoseconds of a millisecond.
const NANOS: i128 = 1_000_000;

/// English names, as the common log format has them.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn utc(at: Timestamp) -> OffsetDateTime {
    // What is out of range (years beyond 9999) was no time of receipt.
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.as_millis()) * NANOS)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// RFC 3339 in UTC, always with milliseconds: `2026-01-02T03:04:05.006Z`.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    let at = utc(at);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.millisecond()
    )
}

/// The common log format, as API Gateway writes `requestContext.time`: `02/Jan/2026:03:04:05 +0000`.
pub(crate) fn common_log(at: Timestamp) -> String {
    let at = utc(at);
    format!(
        "{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000",
        at.day(),
        MONTHS[usize::from(u8::from(at.month())) - 1],
        at.year(),
        at.hour(),
        at.minute(),
        at.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_are_in_utc() {
        let at = Timestamp::from_millis(1_767_323_045_006);
        assert_eq!(rfc3339(at), "2026-01-02T03:04:05.006Z");
        assert_eq!(common_log(at), "02/Jan/2026:03:04:05 +0000");
        assert_eq!(rfc3339(Timestamp::default()), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            common_log(Timestamp::from_millis(1_734_998_399_999)),
            "23/Dec/2024:23:59:59 +0000"
        );
    }

    #[test]
    fn what_is_no_time_of_receipt_is_written_all_the_same() {
        assert_eq!(
            rfc3339(Timestamp::from_millis(i64::MAX)),
            "1970-01-01T00:00:00.000Z"
        );
    }
}
