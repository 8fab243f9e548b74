import SignalboxCore
import SignalboxPluginHost

/// The output of plugins, one line per item, in the format of Hosts/print.c.
///
/// The same flow gives the same lines in every host.
struct Transcript: Sendable {
    var lines: [String] = []

    /// How much of a newer minor a side saw; one line each for plugin and host.
    struct Reach: Equatable {
        var with = 0
        var without = 0
        var wrong = 0
        /// Structs with another size than on the counting side.
        var other = 0

        init?(_ line: String?) {
            let match = line?.firstMatch(
                of: /with=([0-9]+) without=([0-9]+) wrong=([0-9]+) other=([0-9]+)/)
            guard let match, let with = Int(match.output.1), let without = Int(match.output.2),
                let wrong = Int(match.output.3), let other = Int(match.output.4)
            else { return nil }
            (self.with, self.without, self.wrong, self.other) = (with, without, wrong, other)
        }
    }

    /// The lines without reach lines.
    var flow: [String] { lines.filter { !$0.contains(" without=") } }
    var pluginReach: Reach? { Reach(lines.last { $0.hasPrefix("log test info reach ") }) }
    var hostReach: Reach? { Reach(lines.last { $0.hasPrefix("reach ") }) }

    mutating func add(_ line: String) { lines.append(line) }

    mutating func add(fault: PluginFault, of what: String) {
        add("\(what) failed \(fault.kind): \(fault.message)")
    }

    private static func pairs(_ name: String, _ pairs: [Attribute]) -> String {
        " \(name)=" + pairs.map { "\($0.key):\($0.value)" }.joined(separator: ",")
    }

    private static func words(_ what: String, _ device: Device) -> String {
        "\(what) app=\(device.app) platform=\(device.platform) provider=\(device.provider) "
            + "token=\(device.token) source=\(device.sourceToken) user=\(device.user) "
            + "locale=\(device.locale) registered=\(device.registeredUnixMs)"
            + pairs("attributes", device.attributes)
    }

    mutating func add(_ result: IngestResult) {
        add("handle")
        for event in result.events {
            add(
                "event type=\(event.type) subject=\(event.subject) dedupe=\(event.dedupe) "
                    + "data=\(event.data) time=\(event.timeUnixMs)")
            for recipient in event.recipients {
                add(
                    Self.words("recipient", recipient.device)
                        + Self.pairs("said", recipient.attributes))
            }
        }
        for change in result.changes {
            add(
                Self.words(
                    "change kind=\(change.kind.rawValue) time=\(change.timeUnixMs) "
                        + "reason=\(change.reason)", change.device))
        }
        if let answer = result.answer {
            add(
                "answer \(answer.status)" + Self.pairs("headers", answer.headers)
                    + " body=\(String(decoding: answer.body, as: UTF8.self))")
        }
        for reject in result.rejects { add("reject \(reject.reason): \(reject.detail)") }
        if let fault = result.fault { add(fault: fault, of: "handle") }
    }

    mutating func add(_ built: BuildResult) {
        for content in built.contents {
            let note = content.notification
            let flags =
                (note.isSilent ? 1 : 0) + (note.isDataOnly ? 2 : 0) + (note.isMutable ? 4 : 0)
                + (note.isDryRun ? 16 : 0) + (note.isWithdrawn ? 64 : 0)
            let badge = note.badge.map { " badge=\($0)" } ?? ""
            add(
                "content title=\(note.title) subtitle=\(note.subtitle) body=\(note.body) "
                    + "sound=\(note.sound) thread=\(note.thread) category=\(note.category) "
                    + "collapse=\(note.collapse) image=\(note.imageURL) link=\(note.link) "
                    + "push=\(note.pushType) data=\(note.data) flags=\(flags) "
                    + "priority=\(note.priority?.rawValue ?? 0) expires=\(note.expiresUnixMs)"
                    + badge
                    + Self.pairs("overrides", note.overrides.map { Attribute($0.family, $0.json) }))
            for target in content.targets {
                add("target \(target.recipient)" + (target.badge.map { " badge=\($0)" } ?? ""))
            }
        }
        for skip in built.skips { add("skip \(skip.recipient) \(skip.reason)") }
    }

    mutating func add(_ batch: RequestBatch) {
        for request in batch.requests {
            let headers = request.headers.map { index in
                let field = batch.headers[Int(index)]
                return Attribute(batch.text(field.name), batch.text(field.value))
            }
            let items = request.items.map { "\(batch.items[Int($0)])" }.joined(separator: ",")
            add(
                "request \(batch.text(request.method)) \(batch.text(request.path))"
                    + Self.pairs("headers", headers)
                    + " body=\(batch.text(request.body)) items=\(items)")
        }
    }

    mutating func add(_ outcomes: [Outcome]) {
        for one in outcomes {
            add(
                "outcome item=\(one.item) kind=\(one.kind.rawValue) scope=\(one.scope.rawValue) "
                    + "reconnect=\(one.reconnect ? 1 : 0) retry=\(one.retryAfterMs) "
                    + "gone=\(one.goneSinceUnixMs) code=\(one.providerCode) reason=\(one.reason) "
                    + "detail=\(one.detail) provider=\(one.providerID) token=\(one.newToken) "
                    + "credential=\(one.credential)")
        }
    }

    mutating func add(_ endpoint: SendEndpoint) {
        let flags =
            (endpoint.isALPNRequired ? 1 : 0) + (endpoint.isOneStreamFirst ? 2 : 0)
            + (endpoint.isAtMostOnce ? 4 : 0) + (endpoint.isShared ? 32 : 0)
        add(
            "endpoint \(endpoint.origin) ca=\(endpoint.caFile ?? "") flags=\(flags) "
                + "request=\(endpoint.requestTimeoutMs) connect=\(endpoint.connectTimeoutMs) "
                + "idle=\(endpoint.pingIdleMs) ping=\(endpoint.pingTimeoutMs) "
                + "connections=\(endpoint.connectionsMax) streams=\(endpoint.streamsMax)")
    }
}
