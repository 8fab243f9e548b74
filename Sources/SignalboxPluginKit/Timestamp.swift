/// Points in time as text.
public enum Timestamp {
    /// `2026-01-02T03:04:05Z`, with a fraction or an offset (RFC 3339), in Unix milliseconds; nil for other text.
    public static func unixMs(_ text: String) -> UInt64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
            hour < 24, minute < 60, second < 61
        else { return nil }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst().drop { (48...57).contains($0) }
        }
        guard let offset = offset(rest) else { return nil }
        let seconds =
            RetryAfter.days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
        return UInt64(max(0, seconds - offset)) * 1000
    }

    /// `Z`, `+02:00`, in seconds.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int? {
        if text.elementsEqual("Z".utf8) || text.elementsEqual("z".utf8) { return 0 }
        let list = Array(text)
        guard list.count == 6, list[3] == UInt8(ascii: ":"), let hours = number(list[1...2]),
            let minutes = number(list[4...5])
        else { return nil }
        switch list[0] {
        case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
        default: return nil
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
