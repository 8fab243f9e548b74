public import CSignalbox
import SignalboxPluginKit

/// A push gateway for Matrix homeservers, as sygnal is one: each device of a request becomes an event, and the
/// answer names the pushkeys that no push can reach.
final class Matrix: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.matrix", version: "1.0.0",
        summary: "Matrix Push Gateway API in; pushes as sygnal sends them out",
        configSchema: Config.schema, needs: ["sbx.kv/1"])

    let host: Host
    let config: Config
    let deadKeys: DeadKeys

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        deadKeys = DeadKeys(host)
    }

    var paths: [IngestPath] {
        let health =
            config.health.isEmpty ? [] : [IngestPath(config.health, methods: ["GET", "HEAD"])]
        return [IngestPath(config.path)] + health
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        guard request.pattern == config.path else { return try sink.respond(200) }
        let notify: Notify
        do throws(Fault) {
            guard let json = try? host.parse(request.body) else { throw .notJSON }
            notify = try Notify(json)
        } catch {
            try sink.respond(error.status, headers: Self.headers, body: error.body)
            throw error.error
        }
        var rejected: [String] = []
        let questions = questions(notify, sink, rejected: &rejected)
        guard !questions.isEmpty else {
            try sink.respond(200, headers: Self.headers, body: Self.answer(rejected))
            return
        }
        let open = try sink.deferred(timeoutMs: 10_000)
        let bad = rejected
        deadKeys.sort(questions) { result in
            open.attempt { () throws(PluginError) in
                let (living, dead) = try result.mapError { PluginError(.again, $0.message) }.get()
                for _ in dead {
                    open.reject(Reject.deadPushkey.rawValue, Reject.deadPushkey.detail)
                }
                for event in living { try open.emit(event) }
                try open.respond(200, headers: Self.headers, body: Self.answer(bad + dead))
                open.finish()
            }
        }
    }

    /// The events of the usable devices; the others are counted.
    private func questions(
        _ notify: Notify, _ sink: borrowing IngestSink, rejected: inout [String]
    ) -> [DeadKeys.Question] {
        var questions: [DeadKeys.Question] = []
        var seen: Set<String> = []
        for device in notify.devices {
            do throws(Target.Refusal) {
                let target = try Target(device, config)
                guard !notify.eventID.isEmpty || (config.hasBadge && notify.hasCounts) else {
                    throw Target.Refusal(reason: .noCounts)
                }
                guard seen.insert("\(target.appID) \(target.pushkey)").inserted else {
                    throw Target.Refusal(reason: .duplicate)
                }
                questions.append(
                    DeadKeys.Question(
                        pushkey: target.pushkey, pushkeyUnixMs: target.pushkeyUnixMs,
                        event: notify.event(for: target)))
            } catch {
                sink.reject(error.reason.rawValue, error.reason.detail)
                if let key = error.deadKey { rejected.append(key) }
            }
        }
        return questions
    }

    private static let headers = [("content-type", "application/json")]

    private static func answer(_ rejected: [String]) -> [UInt8] {
        var out = JSONWriter()
        out.object { out in
            out.key("rejected")
            out.array { out in for key in rejected { out.string(key) } }
        }
        return out.bytes
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Matrix.self) }
