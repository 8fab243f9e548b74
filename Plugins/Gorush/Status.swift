import SignalboxPluginKit
import Synchronization

/// gorush's other paths.
///
/// What the gateway knows better is on its admin listener: these answers say where.
final class Status: Sendable {
    static let health = "/healthz"
    static let version = "/version"
    static let counts = "/api/stat/app"

    /// Paths of gorush that are answered elsewhere, and where.
    private static let elsewhere = [
        "/api/stat/go": "GET /metrics", "/sys/stats": "GET /metrics", "/metrics": "GET /metrics",
        "/api/config": "the admin page",
    ]

    static let paths: Set = Set(elsewhere.keys).union([health, version, counts])

    static var served: [IngestPath] {
        paths.sorted().map { IngestPath($0, methods: $0 == health ? ["GET", "HEAD"] : ["GET"]) }
    }

    private let accepted = Mutex<[String: Int]>([:])

    /// Counts tokens that were accepted.
    func add(_ count: Int, _ platform: String) {
        accepted.withLock { $0[platform, default: 0] += count }
    }

    func answer(_ path: String, _ host: Host) -> (status: Int, body: [UInt8]) {
        var out = JSONWriter()
        switch path {
        case Self.health: return (200, [])
        case Self.version:
            out.object { out in
                out.member("source", "https://github.com/appleboy/gorush")
                out.member("version", "\(host.programName) \(host.programVersion)")
            }
        case Self.counts: write(&out, host)
        default:
            let place = Self.elsewhere[path] ?? "GET /metrics"
            return (404, Self.problem(404, "The gateway's admin listener has this: \(place)."))
        }
        return (200, out.bytes)
    }

    /// How the pushes ended is in the gateway's metrics, so `push_success` and `push_error` are left out rather
    /// than given as 0.
    private func write(_ out: inout JSONWriter, _ host: Host) {
        let accepted = accepted.withLock { $0 }
        out.object { out in
            out.member("version", "\(host.programName) \(host.programVersion)")
            out.member("total_count", accepted.values.reduce(0, +))
            for platform in ["ios", "android", "huawei"] {
                out.key(platform)
                out.object { out in
                    out.member("push_accepted", accepted[platform] ?? 0)
                }
            }
        }
    }

    /// An error as gorush writes it.
    static func problem(_ status: Int, _ message: String) -> [UInt8] {
        var out = JSONWriter()
        out.object { out in
            out.member("code", status)
            out.member("message", message)
        }
        return out.bytes
    }
}
