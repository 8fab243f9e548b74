internal import Foundation
internal import Glibc
package import SignalboxCore

/// Times in the formats for people and for other programs.
package enum TimeText {
    /// `2026-11-23T03:12:00.123Z`.
    package static func utc(_ unixMs: UInt64) -> String {
        var seconds = time_t(unixMs / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
        let date = String(decoding: text.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
        let ms = "\(1_000 + unixMs % 1_000)".dropFirst()
        return "\(date).\(ms)Z"
    }

    /// `2026-01-02 03:04:05.678`, in the caller's time zone.
    package static func local(_ unixMs: Int64) -> String {
        let seconds = Date(timeIntervalSince1970: Double(unixMs / 1_000))
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let rest = String(unixMs % 1_000)
        return format.string(from: seconds) + "." + String(repeating: "0", count: 3 - rest.count)
            + rest
    }
}

extension JSONValue {
    /// The same, with `time` after each `unix_ms`, and `received_time` after `received_unix_ms`.
    package var withTimes: JSONValue {
        switch self {
        case .array(let items): return .array(items.map(\.withTimes))
        case .object(let members):
            return .object(
                members.flatMap { member -> [Member] in
                    let same = Member(member.key, member.value.withTimes)
                    guard member.key.hasSuffix("unix_ms"), let ms = member.value.integer, ms > 0
                    else { return [same] }
                    let name = member.key.dropLast("unix_ms".count) + "time"
                    return [
                        same,
                        Member(String(name), .string(TimeText.utc(UInt64(clamping: ms)))),
                    ]
                })
        default: return self
        }
    }
}
