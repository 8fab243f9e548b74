/// Points in time in the notation of gateway.yaml: the same everywhere, so they name their offset.
public enum InstantText {
    /// `2026-01-02T23:30:00Z` or `2026-01-02T23:30+01:00` (RFC 3339) in Unix milliseconds; nil for other text.
    public static func unixMs(_ text: String) -> UInt64? {
        guard
            let match = text.wholeMatch(
                of: /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?(?:Z|([+-])(\d\d):(\d\d))/)
        else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let (_, year, month, day, hour, minute, second, sign, hours, minutes) = match.output
        let date = (number(year), number(month), number(day))
        guard (1970...9999).contains(date.0), (1...12).contains(date.1),
            (1...daysOfMonth(date.0, date.1)).contains(date.2), number(hour) < 24,
            number(minute) < 60, number(second) < 60, number(hours) < 24, number(minutes) < 60
        else { return nil }
        let clock = number(hour) * 3_600 + number(minute) * 60 + number(second)
        let offset = (number(hours) * 3_600 + number(minutes) * 60) * (sign == "-" ? -1 : 1)
        let seconds = days(date.0, date.1, date.2) * 86_400 + clock - offset
        return seconds < 0 ? nil : UInt64(seconds) * 1_000
    }

    private static func daysOfMonth(_ year: Int, _ month: Int) -> Int {
        let next = month == 12 ? (year + 1, 1) : (year, month + 1)
        return days(next.0, next.1, 1) - days(year, month, 1)
    }

    /// Days since 1970-01-01, in the Gregorian calendar.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years begin in March, so that a leap day is the last of its year.
        let years = month > 2 ? year : year - 1
        let monthOfYear = (month + 9) % 12
        let leaps = years / 4 - years / 100 + years / 400
        return years * 365 + leaps + (monthOfYear * 153 + 2) / 5 + day - 1 - 719_468
    }
}
