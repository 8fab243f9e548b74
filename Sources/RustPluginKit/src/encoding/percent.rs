//! Percent-encoding (RFC 3986).

use super::base64::hex_decode;

/// Encodes one segment of a path: everything but letters, digits, `-`, `.`, `_` and `~`.
pub fn percent_encode(text: &str) -> String {
    // As segments, these two would lead to another path.
    if text == "." || text == ".." {
        return text.replace('.', "%2E");
    }
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into())
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// Decodes once; `None` if two digits do not follow a `%`, or the result is not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        out.extend(hex_decode(digits)?);
        rest = &rest[2..];
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_both_ways() {
        assert_eq!(percent_encode("a/b c-._~ü%"), "a%2Fb%20c-._~%C3%BC%25");
        assert_eq!(percent_encode(".."), "%2E%2E");
        assert_eq!(percent_decode("a%2fb%20c-%C3%BC%25").as_deref(), Some("a/b c-ü%"));
        assert_eq!(percent_decode("100%2525").as_deref(), Some("100%25"));
        for wrong in ["%", "%2", "%zz", "%ff", "%+1", "%ä"] {
            assert_eq!(percent_decode(wrong), None, "{wrong}");
        }
    }
}
