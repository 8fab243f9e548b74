import SignalboxCore
import SignalboxJSON

@testable import SignalboxPluginHost

/// Random values from a seed.
struct Chance {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ limit: UInt64) -> UInt64 { limit == 0 ? 0 : next() % limit }
    mutating func flag() -> Bool { below(2) == 0 }

    mutating func text() -> String {
        let letters = ["a", "Z", "0", "/", "\"", "ü", "日", "👍🏽", "\u{0}", "\n", " "]
        return (0..<below(30)).map { _ in letters[Int(below(UInt64(letters.count)))] }.joined()
    }

    mutating func bytes() -> [UInt8] {
        (0..<below(60)).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    mutating func list<Value>(_ make: (inout Chance) -> Value) -> [Value] {
        (0..<below(5)).map { _ in make(&self) }
    }

    mutating func maybe<Value>(_ make: (inout Chance) -> Value) -> Value? {
        flag() ? make(&self) : nil
    }

    mutating func attribute() -> Attribute { Attribute(text(), text()) }

    mutating func device() -> Device {
        Device(
            app: text(), platform: text(), provider: text(), token: text(), sourceToken: text(),
            user: text(), locale: text(), registeredUnixMs: next(),
            attributes: list { $0.attribute() })
    }

    mutating func recipient() -> Recipient {
        Recipient(device: device(), attributes: list { $0.attribute() })
    }

    mutating func event() -> Event {
        var event = Event(
            source: text(), type: text(), subject: text(), dedupe: text(), data: text(),
            timeUnixMs: next(), recipients: list { $0.recipient() })
        event.dedupeWindowMs = next()
        return event
    }

    mutating func change() -> DeviceChange {
        DeviceChange(
            kind: DeviceChange.Kind.allCases[Int(below(5))], device: device(),
            timeUnixMs: next(), reason: text(), subject: text())
    }

    mutating func notification() -> PushNotification {
        var note = PushNotification()
        (note.isSilent, note.isDataOnly) = (flag(), flag())
        (note.isMutable, note.isDryRun, note.isWithdrawn) = (flag(), flag(), flag())
        note.badge = maybe { Int32(truncatingIfNeeded: $0.next()) }
        note.priority = [nil, .low, .normal, .high][Int(below(4))]
        note.expiresUnixMs = next()
        (note.title, note.subtitle, note.body) = (text(), text(), text())
        (note.sound, note.thread, note.category) = (text(), text(), text())
        (note.collapse, note.imageURL, note.link) = (text(), text(), text())
        note.pushType = text()
        note.data = ["", "{}", #"{"a":[1,null,"x"],"b":{"c":true}}"#][Int(below(3))]
        note.overrides = list { PayloadOverride(family: $0.text(), json: #"{"x":1}"#) }
        return note
    }

    mutating func deliveries() -> [Delivery] {
        let contents = (0...below(3)).map { _ in
            SharedNotification(notification(), receivedUnixMs: 0)
        }
        return (0..<below(8)).map { _ in
            Delivery(
                id: next(), eventID: 0, route: "", sender: "", stableID: text(),
                attempt: UInt32(below(9)), badge: maybe { Int32(truncatingIfNeeded: $0.next()) },
                deadlineUnixMs: next(), content: contents[Int(below(UInt64(contents.count)))],
                device: device())
        }
    }

    mutating func response() -> HTTPResponse {
        HTTPResponse(
            status: UInt32(below(600)), headers: list { $0.attribute() }, body: bytes(),
            items: list { $0.next() })
    }

    mutating func outcome() -> Outcome {
        var out = Outcome(
            item: next(), kind: Outcome.Kind(rawValue: UInt32(below(7) + 1)) ?? .retry,
            reason: text())
        out.scope = Outcome.Scope(rawValue: UInt32(below(3))) ?? .item
        (out.reconnect, out.suspectsToken) = (flag(), flag())
        (out.retryAfterMs, out.goneSinceUnixMs) = (next(), next())
        out.providerCode = UInt32(below(600))
        (out.detail, out.providerID) = (text(), text())
        (out.newToken, out.credential) = (text(), text())
        return out
    }

    mutating func requests() -> RequestBatch {
        var batch = RequestBatch()
        for _ in 0..<below(5) {
            let method = batch.append(bytes: "POST".utf8)
            let path = batch.append(bytes: bytes())
            for _ in 0..<below(4) {
                let name = batch.append(bytes: bytes())
                batch.append(header: .init(name: name, value: batch.append(bytes: bytes())))
            }
            for _ in 0..<below(3) { batch.append(item: next()) }
            batch.appendRequest(
                method: method, path: path, body: batch.append(bytes: bytes()),
                unindexedHeaders: next())
        }
        return batch
    }

    mutating func fault() -> PluginFault {
        PluginFault(PluginFault.Kind(rawValue: -Int32(below(12) + 1)) ?? .internal, text())
    }

    mutating func endpoint() -> SendEndpoint {
        var endpoint = SendEndpoint(
            origin: text(), caFile: maybe { $0.text() },
            clientIdentity: maybe { .init(certificate: $0.bytes(), key: $0.bytes()) },
            isALPNRequired: flag(), isOneStreamFirst: flag(), isAtMostOnce: flag(),
            requestTimeoutMs: Int(below(99_999)), connectTimeoutMs: Int(below(99_999)),
            pingIdleMs: Int(below(99_999)), pingTimeoutMs: Int(below(99_999)),
            connectionsMax: Int(below(9)), streamsMax: Int(below(999)))
        (endpoint.isREST, endpoint.allowsPrivateOrigins) = (flag(), flag())
        endpoint.isShared = flag()
        return endpoint
    }

    mutating func request() -> IngestRequest {
        var out = IngestRequest(
            method: text(), path: text(), pattern: text(), body: bytes(), receivedUnixMs: next())
        (out.query, out.remote, out.clientCertificate) = (text(), text(), text())
        (out.params, out.headers) = (list { $0.attribute() }, list { $0.attribute() })
        return out
    }

    mutating func ingestResult() -> IngestResult {
        var out = IngestResult()
        out.events = list { $0.event() }
        out.changes = list { $0.change() }
        out.rejects = list { .init(reason: $0.text(), detail: $0.text()) }
        out.answer = maybe { chance in
            .init(
                status: UInt32(chance.below(600)), headers: chance.list { $0.attribute() },
                body: chance.bytes())
        }
        out.fault = maybe { $0.fault() }
        return out
    }

    mutating func buildResult() -> BuildResult {
        var out = BuildResult()
        out.contents = list { chance in
            let note = chance.notification()
            return BuiltContent(
                notification: note,
                targets: chance.list {
                    .init(
                        recipient: Int($0.below(10_000)),
                        badge: $0.maybe { Int32(truncatingIfNeeded: $0.next()) })
                }, data: try? JSONDocument.parse(note.data))
        }
        out.skips = list { .init(recipient: Int($0.below(10_000)), reason: $0.text()) }
        return out
    }

    mutating func prepareResult() -> PrepareResult {
        switch below(3) {
        case 0: .again(isRestarting: false)
        case 1: .failed(fault())
        default: .ready(requests(), settled: list { $0.outcome() })
        }
    }

    mutating func create() -> CreateMessage {
        var secrets: [String: PluginSecret] = [:]
        // At most one: the order of several is undefined.
        for _ in 0..<below(2) {
            secrets[text()] = PluginSecret(bytes: bytes(), file: maybe { $0.text() })
        }
        return CreateMessage(
            name: text(), program: text(), programVersion: text(), library: text(),
            sha256: maybe { $0.text() }, confinement: flag() ? .process : .sandbox, config: text(),
            secrets: secrets, logLevels: UInt32(below(32)), asksForTime: flag(),
            workers: UInt32(below(99)))
    }

    mutating func role() -> TranslatorRole { flag() ? .sendHTTP : .register }

    mutating func facts() -> RoleFacts {
        var out = RoleFacts()
        out.paths = maybe { chance in
            chance.list { chance in
                IngestPath(pattern: chance.text(), methods: chance.list { $0.text() })
            }
        }
        out.builds = flag()
        out.sendHTTP = maybe { chance in .init(maxBatch: chance.maybe { Int($0.below(999)) }) }
        out.send = maybe { chance in .init(maxBatch: chance.maybe { Int($0.below(999)) }) }
        out.register = maybe { .init(maxBatch: nil, kinds: $0.below(64)) }
        return out
    }
}
