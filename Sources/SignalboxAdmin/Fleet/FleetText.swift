internal import SignalboxCore
internal import SignalboxGateway

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
        let pauses = fleet.pauses
        for lane in fleet.items("lanes") {
            let (waiting, leased) = (lane["waiting"]?.integer ?? 0, lane["leased"]?.integer ?? 0)
            guard waiting + leased > 0 else { continue }
            let app = lane["app"]?.string ?? ""
            let isPaused = pauses.contains {
                $0.kind == .sender && $0.name == lane["sender"]?.string
            }
            lines.append([
                lane["sender"]?.string ?? "", app.isEmpty ? "-" : app, "\(waiting)", "\(leased)",
                Self.duration(lane["lag_ms"]?.integer ?? 0)
                    + (isPaused ? ", paused" : ""),
            ])
        }
        let lanes = lines.count > 1 ? Self.table(lines) : "nothing waits"
        text = ([gateways, "", lanes] + pauses.map(\.text)).joined(separator: "\n")
    }

    /// A table whose columns are as wide as their widest cell.
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

    private static func duration(_ ms: Int64) -> String {
        DurationText.rough(ms: UInt64(max(0, ms)))
    }
}
