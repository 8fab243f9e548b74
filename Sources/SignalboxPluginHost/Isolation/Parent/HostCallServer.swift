internal import SignalboxCore
internal import Synchronization

/// Serves the calls and notices from a plugin's process.
///
/// Runs on the reading thread, so nothing here may block: long calls are answered later. Input comes from
/// another process and is not trusted, so everything has a limit.
final class HostCallServer: Sendable {
    private static let metricsMax = 1_000
    private static let answersMax = 1_024
    private static let lineBytesMax = 8_192
    private static let fieldsMax = 64
    private let name: String
    private let services: any HostServices
    private let secrets: SecretBox
    private let metrics = Mutex<[UInt32: any PluginMetric]>([:])
    private let logQuota = LogQuota()
    /// Calls whose answer is still to come.
    private let answersCount = Atomic<Int>(0)

    init(name: String, services: any HostServices, secrets: SecretBox) {
        self.name = name
        self.services = services
        self.secrets = secrets
    }

    /// Serves a call or a notice. False if the method is not a host service.
    func handle(
        _ method: WireMethod, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) -> Bool {
        var reader = frame.reader
        var isKnown = try tell(method, &reader)
        if !isKnown { isKnown = try answer(method, &reader, frame, peer) }
        if !isKnown { isKnown = try begin(method, &reader, frame, peer) }
        if isKnown { try reader.end() }
        return isKnown
    }

    // MARK: Notices

    private func tell(
        _ method: WireMethod, _ reader: inout WireReader
    ) throws(WireFault) -> Bool {
        switch method {
        case .log: log(try reader.value())
        case .count:
            let said = try reader.value(CountMessage.self)
            let metric = metrics.withLock { $0[said.number] }
            guard let metric else { throw WireFault("there is no metric \(said.number)") }
            if said.isSet {
                metric.set(said.value)
            } else {
                metric.add(MetricsService.bounded(said.value))
            }
        case .shortened:
            services.shortened(instance: name, field: Self.cut(try reader.value()))
        case .misbehaved:
            services.misbehaved(instance: name, Self.cut(try reader.value()))
        default: return false
        }
        return true
    }

    private func log(_ line: LogMessage) {
        let isAdmitted = logQuota.admits {
            services.log(instance: name, level: .warn, message: $0, fields: [])
        }
        guard isAdmitted else { return }
        services.log(
            instance: name, level: line.level, message: Self.cut(line.message),
            fields: line.fields.prefix(Self.fieldsMax).map {
                Attribute(Self.cut($0.key), Self.cut($0.value))
            })
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= lineBytesMax ? text : String(text.prefix(lineBytesMax / 4))
    }

    // MARK: Calls with a reply

    private func answer(
        _ method: WireMethod, _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) -> Bool {
        func reply<Value: WireValue>(_ value: Value) {
            peer.reply(to: frame) { $0.put(value) }
        }
        switch method {
        case .now: reply(services.nowUnixMs)
        case .sign:
            let asked = try reader.value(SignMessage.self)
            reply(
                WireResult { () throws(PluginFault) in
                    try services.sign(asked.algorithm, key: asked.key, data: asked.data)
                })
        case .verify:
            let asked = try reader.value(SignMessage.self)
            reply(
                WireResult { () throws(PluginFault) in
                    try services.verify(
                        asked.algorithm, key: asked.key, data: asked.data,
                        signature: asked.signature ?? [])
                })
        case .publicKey:
            let asked = try reader.value(PublicKeyMessage.self)
            reply(
                WireResult { () throws(PluginFault) in
                    try services.publicKey(asked.form, key: asked.key)
                })
        case .utcOffset:
            let asked = try reader.value(ZoneMessage.self)
            reply(services.utcOffset(zone: asked.zone, unixMs: asked.unixMs))
        case .certificate:
            let asked = try reader.value(CertificateMessage.self)
            reply(
                WireResult { () throws(PluginFault) in
                    try services.certificate(asked.bytes, password: asked.password)
                })
        case .identity:
            let asked = try reader.value(CertificateMessage.self)
            reply(
                WireResult { () throws(PluginFault) in
                    let made = try services.identity(asked.bytes, password: asked.password)
                    return SendEndpoint.ClientIdentity(
                        certificate: made.certificate, key: made.key)
                })
        case .readFile:
            let path = try reader.value(String.self)
            // Only files of its own secrets.
            reply(secrets.isFile(path) ? services.readFile(path) : nil)
        case .metric: reply(metric(try reader.value()))
        default: return false
        }
        return true
    }

    private func metric(_ asked: MetricMessage) -> Bool {
        metrics.withLock { metrics in
            guard metrics.count < Self.metricsMax, !MetricHandles.isReserved(asked.name),
                let metric = services.metric(
                    instance: name, name: asked.name, labels: asked.labels,
                    isGauge: asked.isGauge)
            else { return false }
            metrics[asked.number] = metric
            return true
        }
    }

    // MARK: Calls with a later answer

    private func begin(
        _ method: WireMethod, _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) -> Bool {
        let call = Later(frame: frame, peer: peer)
        switch method {
        case .call:
            let asked = try reader.value(PluginHTTPCall.self)
            later(call) { done throws(PluginFault) in try services.call(asked, done: done) }
        case .value:
            let key = try reader.value(String.self)
            later(call) { done throws(PluginFault) in
                try services.value(instance: name, key: key, done: done)
            }
        case .set:
            let asked = try reader.value(SetMessage.self)
            guard asked.key.utf8.count <= KVService.keyBytesMax,
                (asked.value?.count ?? 0) <= KVService.valueBytesMax
            else { throw WireFault("a durable value is too large") }
            later(call) { done throws(PluginFault) in
                try services.set(
                    instance: name, key: asked.key, value: asked.value,
                    expiresUnixMs: asked.expiresUnixMs, done: Self.nothing(done))
            }
        case .keys:
            let asked = try reader.value(KeysMessage.self)
            guard (1...Int(KVService.pageMax)).contains(asked.limit) else {
                throw WireFault("a page of keys is too large")
            }
            later(call) { done throws(PluginFault) in
                try services.keys(
                    instance: name, prefix: asked.prefix, after: asked.after, limit: asked.limit,
                    done: done)
            }
        case .edit:
            let asked = try reader.value(EditMessage.self)
            guard asked.isSound else { throw WireFault("a durable value is too large") }
            later(call) { done throws(PluginFault) in
                try services.edit(instance: name, key: asked.key, asked.edit, done: done)
            }
        case .devices:
            let asked = try reader.value(DevicesMessage.self)
            later(call) { done throws(PluginFault) in
                try services.devices(app: asked.app, user: asked.name, done: done)
            }
        case .device:
            let asked = try reader.value(DevicesMessage.self)
            later(call) { done throws(PluginFault) in
                try services.device(app: asked.app, token: asked.name, done: done)
            }
        case .change:
            let change = try reader.value(DeviceChange.self)
            guard change.isSound else { throw WireFault("a change is malformed") }
            later(call) { done throws(PluginFault) in
                try services.change(instance: name, change, done: Self.nothing(done))
            }
        default: return false
        }
        return true
    }

    private struct Later: Sendable {
        var frame: WireFrame
        var peer: WirePeer
    }

    /// Replies whether the call has begun; what it calls back with is the answer.
    private func later<Answer: WireValue>(
        _ call: Later,
        _ start: (@escaping @Sendable (Result<Answer, PluginFault>) -> Void) throws(PluginFault)
            -> Void
    ) {
        guard answersCount.load(ordering: .relaxed) < Self.answersMax else {
            let full = PluginFault(.again, "too many calls are waiting for an answer")
            call.peer.reply(to: call.frame) { $0.put(WireResult<WireNothing>(.failure(full))) }
            return
        }
        answersCount.wrappingAdd(1, ordering: .relaxed)
        let begun = WireResult { () throws(PluginFault) in
            try start { [self] result in
                answersCount.wrappingSubtract(1, ordering: .relaxed)
                if call.peer.answer(call.frame, { $0.put(WireResult(result)) }) { return }
                let tooLong = PluginFault(.tooLarge, "the answer is too long")
                call.peer.answer(call.frame) { $0.put(WireResult<Answer>(.failure(tooLong))) }
            }
            return WireNothing()
        }
        if case .failure = begun.result { answersCount.wrappingSubtract(1, ordering: .relaxed) }
        call.peer.reply(to: call.frame) { $0.put(begun) }
    }

    private static func nothing(
        _ done: @escaping @Sendable (Result<WireNothing, PluginFault>) -> Void
    ) -> @Sendable (PluginFault?) -> Void {
        { fault in done(fault.map { .failure($0) } ?? .success(WireNothing())) }
    }
}

extension DeviceChange {
    /// Whether it is a change that a plugin may report.
    var isSound: Bool {
        let isNamed =
            switch kind {
            case .registered: !device.platform.isEmpty && hasToken
            case .unregistered: !device.token.isEmpty || !device.user.isEmpty
            case .invalid, .proven, .unproven: false
            }
        return isNamed && device.fault == nil
            && device.attributes.count <= DeviceRules.attributesMax
    }

    private var hasToken: Bool {
        var device = device
        device.spell()
        return DeviceToken.fault(device.token) == nil
    }
}
