package import Foundation
internal import SignalboxCore

/// Times in the past, as operators write them.
public enum PastTime {
    /// The text is not a time.
    public struct Fault: Error, CustomStringConvertible {
        /// Quotes the text, and lists the accepted forms.
        public let description: String
    }

    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    private static let formats = [
        "yyyy-MM-dd'T'HH:mm:ssZZZZZ", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm",
        "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm", "yyyy-MM-dd",
    ]

    /// `10:30` (the most recent one), `2026-01-02T10:30`, `2h` ago, or Unix milliseconds.
    public static func unixMs(_ text: String) throws(Fault) -> UInt64 {
        try unixMs(text, now: Date())
    }

    package static func unixMs(_ text: String, now: Date) throws(Fault) -> UInt64 {
        if let number = UInt64(text), number > 1_000_000_000_000 { return number }
        // "-2h" also means two hours ago.
        let length = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if let unit = length.last.flatMap({ units[$0] }),
            let count = Double(length.dropLast()), count >= 0
        {
            return ms(now.addingTimeInterval(-unit * count))
        }
        let reader = DateFormatter()
        reader.locale = Locale(identifier: "en_US_POSIX")
        for format in formats {
            reader.dateFormat = format
            if let date = reader.date(from: text) { return ms(date) }
        }
        for format in ["HH:mm:ss", "HH:mm"] {
            reader.dateFormat = format
            guard let date = reader.date(from: text) else { continue }
            let parts = Calendar.current.dateComponents([.hour, .minute, .second], from: date)
            let last = Calendar.current.nextDate(
                after: now, matching: parts, matchingPolicy: .nextTime, direction: .backward)
            if let last { return ms(last) }
        }
        throw Fault(
            description:
                "\"\(text)\" is no time; write 10:30, 2026-01-02T10:30, 2026-01-02T10:30:00+01:00, "
                + "2h or -2h (ago), 30m or Unix milliseconds")
    }

    /// `2026-01-02T10:30:00+01:00`, in this machine's time zone.
    public static func words(_ unixMs: UInt64) -> String {
        let writer = DateFormatter()
        writer.locale = Locale(identifier: "en_US_POSIX")
        writer.dateFormat = formats[0]
        return writer.string(from: Date(timeIntervalSince1970: Double(unixMs) / 1_000))
    }

    private static func ms(_ date: Date) -> UInt64 {
        UInt64(nearest: max(0, date.timeIntervalSince1970 * 1_000).rounded(.down))
    }
}
