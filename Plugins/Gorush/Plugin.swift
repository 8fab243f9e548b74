public import CSignalbox
import SignalboxPluginKit

/// gorush's HTTP API: each element of `notifications` becomes an event, and the event the push that gorush
/// would have sent.
final class Gorush: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.gorush", version: "1.0.0",
        summary: "gorush's HTTP API in; the same pushes out", configSchema: Config.schema)

    let host: Host
    private let config: Config
    private let status = Status()
    /// Fields that change nothing, by name; `other` for names that gorush does not document.
    private let ignored: [String: Counter]

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        ignored = Dictionary(
            uniqueKeysWithValues: (Fields.ignored + ["other"]).map {
                ($0, host.counter("fields_ignored_total", [("field", $0)]))
            })
    }

    func start() throws(PluginError) {
        guard config.caller.isOpen else { return }
        host.write(.info, "no credentials are configured: everybody who reaches the port may push")
    }

    var paths: [IngestPath] {
        [IngestPath(config.path)] + (config.hasStatus ? Status.served : [])
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        if request.pattern != config.path {
            // How many were sent is nobody else's business.
            if request.pattern == Status.counts, try !config.caller.fits(request, host) {
                throw try refused(.credentials, sink)
            }
            let (code, body) = status.answer(request.pattern, host)
            try sink.respond(code, headers: Self.headers(body), body: body)
            return
        }
        guard try config.caller.fits(request, host) else { throw try refused(.credentials, sink) }
        guard let json = try? host.parse(request.body), let list = json["notifications"],
            list.kind == .array
        else { throw try refused(.missing, sink) }
        guard list.count > 0 else { throw try refused(.empty, sink) }
        guard list.count <= config.notificationsMax else {
            throw try refused(.tooMany(list.count, limit: config.notificationsMax), sink)
        }
        var count = 0
        var failures: [Failure] = []
        for element in list.elements {
            let push: Push
            do throws(Reject) {
                push = try Push(element)
            } catch {
                sink.reject(error.reason.rawValue, error.detail)
                failures.append(Failure(element, error))
                continue
            }
            for reject in push.rejects { sink.reject(reject.reason.rawValue, reject.detail) }
            countIgnored(element, platform: push.platform)
            try sink.emit(push.event(app: config.app, receivedUnixMs: request.receivedUnixMs))
            status.add(push.tokens.count, push.platform)
            count += push.tokens.count
        }
        let body = Self.answer(count, failures)
        try sink.respond(200, headers: Self.headers(body), body: body)
    }

    /// An element that was left out.
    private struct Failure {
        let id: String
        let platform: String
        let words: String

        init(_ element: JSON, _ fault: Reject) {
            id = element.words("notif_id")
            platform = element["platform"]?.wholeNumber.flatMap { Push.platforms[$0] } ?? ""
            words = fault.detail
        }
    }

    /// gorush's answer. It has no log of pushes that fail later; outcomes tell of these.
    private static func answer(_ count: Int, _ failures: [Failure]) -> [UInt8] {
        var out = JSONWriter()
        out.object { out in
            out.member("counts", count)
            out.key("logs")
            out.array { out in
                for failure in failures {
                    out.object { out in
                        out.member("notif_id", failure.id)
                        out.member("type", "failed-push")
                        for (name, text) in [
                            ("platform", failure.platform), ("token", ""), ("message", ""),
                            ("error", failure.words),
                        ] {
                            out.key(name)
                            out.string(text)
                        }
                    }
                }
            }
            out.member("success", "ok")
        }
        return out.bytes
    }

    private static func headers(_ body: [UInt8]) -> [(String, String)] {
        body.isEmpty ? [] : [("content-type", "application/json; charset=utf-8")]
    }

    private func refused(
        _ fault: Fault, _ sink: borrowing IngestSink
    ) throws(PluginError) -> PluginError {
        let body = Status.problem(fault.status, fault.message)
        try sink.respond(fault.status, headers: Self.headers(body), body: body)
        return fault.error
    }

    private func countIgnored(_ push: JSON, platform: String) {
        for (name, _) in push.members where !Fields.carries(name, platform: platform) {
            (ignored[name] ?? ignored["other"])?.add()
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Gorush.self) }
