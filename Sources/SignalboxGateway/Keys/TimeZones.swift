internal import Foundation

/// Local time in the zones of the IANA database.
package enum TimeZones {
    /// How far local time is ahead of UTC, in seconds; nil if the zone is unknown.
    package static func offset(zone: String, unixMs: UInt64) -> Int32? {
        guard let zone = TimeZone(identifier: zone) else { return nil }
        let at = Date(timeIntervalSince1970: Double(unixMs) / 1000)
        return Int32(clamping: zone.secondsFromGMT(for: at))
    }
}
