//! Points in time and waits, as text.

/// Unix milliseconds of an RFC 3339 time with `Z` or an offset: `2026-01-02T03:04:05.678Z`.
/// `None` if malformed.
pub fn rfc3339_unix_ms(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| number(bytes.get(from..to)?);
    let mark = |at: usize, marks: &[u8]| bytes.get(at).filter(|byte| marks.contains(byte));
    mark(4, b"-")?;
    mark(7, b"-")?;
    mark(10, b"Tt")?;
    mark(13, b":")?;
    mark(16, b":")?;
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // 60 is a leap second; it counts as the first second of the next minute.
    if !(1..=12).contains(&month) || day < 1 || day > month_length(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut ms = 0;
    if mark(at, b".").is_some() {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let kept: String = text[at + 1..].chars().take(digits.min(3)).collect();
        ms = format!("{kept:0<3}").parse().ok()?;
        at += 1 + digits;
    }
    let offset = offset(&bytes[at..])?;
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some((seconds - offset) * 1000 + ms)
}

/// The seconds of `Z` or `+02:00`.
fn offset(text: &[u8]) -> Option<i64> {
    let sign = match text {
        b"Z" | b"z" => return Some(0),
        [b'+', _, _, b':', _, _] => 1,
        [b'-', _, _, b':', _, _] => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(&text[1..3])?, number(&text[4..6])?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn number(digits: &[u8]) -> Option<i64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar. Years begin in March here, so the
/// leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Longer waits are cut to a day.
const WAIT_SECONDS_MAX: u64 = 86_400;

/// The value of a `retry-after` field, seconds or a date (RFC 9110, section 10.2.3), as a wait of
/// at most a day, in milliseconds; `None` if it is neither.
pub fn retry_after_ms(text: &str, now_unix_ms: u64) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX);
        return Some(seconds * 1000);
    }
    let at = u64::try_from(http_date_unix_s(text)?).unwrap_or(0) * 1000;
    Some(at.saturating_sub(now_unix_ms).min(WAIT_SECONDS_MAX * 1000))
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date_unix_s(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let (day, month, year, clock) = match parts[..] {
        [_, day, month, year, clock, "GMT"] => (day, month, year, clock),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let text = format!("{year:0>4}-{month:02}-{day:0>2}T{clock}Z");
    rfc3339_unix_ms(&text).map(|ms| ms / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_rfc_3339() {
        let vectors = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-02T03:04:05Z", 1_767_323_045_000),
            ("2026-01-02t03:04:05.6789z", 1_767_323_045_678),
            ("2026-01-02T03:04:05.5Z", 1_767_323_045_500),
            ("2026-01-02T05:04:05+02:00", 1_767_323_045_000),
            ("2026-01-01T22:34:05-04:30", 1_767_323_045_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("1969-12-31T23:59:59Z", -1_000),
        ];
        for (text, ms) in vectors {
            assert_eq!(rfc3339_unix_ms(text), Some(ms), "{text}");
        }
        let wrong = [
            "",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02 03:04:05Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00Zx",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:0éZ",
            "20260101T000000Z",
        ];
        for text in wrong {
            assert_eq!(rfc3339_unix_ms(text), None, "{text}");
        }
    }

    #[test]
    fn waits_are_seconds_or_dates() {
        let now = 784_111_777_000;
        assert_eq!(retry_after_ms("120", now), Some(120_000));
        assert_eq!(retry_after_ms(" 0 ", now), Some(0));
        assert_eq!(retry_after_ms("99999999999999999999999", now), Some(86_400_000));
        assert_eq!(retry_after_ms("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(10_000));
        assert_eq!(retry_after_ms("Sun, 06 Nov 1994 08:49:00 GMT", now), Some(0));
        for wrong in ["", "-1", "soon", "1.5", "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994"]
        {
            assert_eq!(retry_after_ms(wrong, now), None, "{wrong}");
        }
    }
}
