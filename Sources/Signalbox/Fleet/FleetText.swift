internal import SignalboxCore

/// The fleet as two tables.
struct FleetText {
    let text: String

    init(_ fleet: JSONValue) {
        let now = fleet["unix_ms"]?.integer ?? 0
        var lines: [[String]] = [
            ["GATEWAY", "VERSION", "CONFIG", "STATE", "UP FOR", "HEARTBEAT", "LEASED"]
        ]
        for gateway in fleet.items("gateways") {
            lines.append([
                gateway["name"]?.string ?? "", gateway["version"]?.string ?? "",
                gateway["configuration"]?.string.flatMap { $0.isEmpty ? nil : $0 } ?? "-",
                gateway["state"]?.string ?? "",
                Self.duration(now - (gateway["started_unix_ms"]?.integer ?? now)),
                Self.duration(now - (gateway["heartbeat_unix_ms"]?.integer ?? now)) + " ago",
                "\(gateway["leased"]?.integer ?? 0)",
            ])
        }
        let gateways = lines.count > 1 ? Self.table(lines) : "no gateway runs"
        lines = [["LANE", "APP", "WAITING", "LEASED", "LAG"]]
        for lane in fleet.items("lanes") {
            let (waiting, leased) = (lane["waiting"]?.integer ?? 0, lane["leased"]?.integer ?? 0)
            guard waiting + leased > 0 else { continue }
            let app = lane["app"]?.string ?? ""
            lines.append([
                lane["sender"]?.string ?? "", app.isEmpty ? "-" : app, "\(waiting)", "\(leased)",
                Self.duration(lane["lag_ms"]?.integer ?? 0),
            ])
        }
        let lanes = lines.count > 1 ? Self.table(lines) : "nothing waits"
        text = gateways + "\n\n" + lanes
    }

    /// Columns as wide as their widest cell.
    private static func table(_ lines: [[String]]) -> String {
        let widths = lines[0].indices.map { column in
            lines.map { $0[column].count }.max() ?? 0
        }
        return lines.map { line in
            var text = ""
            for (cell, width) in zip(line, widths) {
                text += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while text.last == " " { text.removeLast() }
            return text
        }.joined(separator: "\n")
    }

    /// The two largest units: `3 h 12 min`.
    static func duration(_ ms: Int64) -> String {
        let seconds = max(0, ms) / 1_000
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3_600) h \(seconds / 60 % 60) min"
        default: "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
        }
    }
}
