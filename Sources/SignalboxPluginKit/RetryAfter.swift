/// The value of a `Retry-After` field: seconds, or a date (RFC 9110, section 10.2.3).
public enum RetryAfter {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// How long to wait, in milliseconds; nil if the text is neither.
    public static func milliseconds(_ text: String, nowUnixMs: UInt64) -> UInt64? {
        let trimmed = text.split(separator: " ").joined(separator: " ")
        if let seconds = UInt64(trimmed) { return min(seconds, 86_400) * 1000 }
        guard let at = unixSeconds(trimmed) else { return nil }
        let target = UInt64(max(0, at)) * 1000
        return target > nowUnixMs ? min(target - nowUnixMs, 86_400_000) : 0
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func unixSeconds(_ text: String) -> Int? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]),
            let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3])
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]),
            (0..<62).contains(clock[2]), (1...31).contains(day), (1970...9999).contains(year)
        else {
            return nil
        }
        return days(year, month + 1, day) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    }

    /// Days from 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is
    /// the last one.
    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
