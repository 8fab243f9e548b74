internal import SignalboxCore
internal import Synchronization

/// Serves the calls and notices from a plugin's process.
///
/// Runs on the reading thread, so nothing here may block: long calls are answered later. Input comes from
/// another process and is not trusted, so everything has a limit.
final class ServiceDesk: Sendable {
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
        switch method {
        case .now: peer.reply(to: frame) { $0.put(services.nowUnixMs) }
        case .sign: try sign(&reader, frame, peer)
        case .verify: try verify(&reader, frame, peer)
        case .publicKey:
            let asked = try reader.value(PublicKeyMessage.self)
            let made = result { () throws(PluginFault) in
                WireBytes(try services.publicKey(asked.form, key: asked.key))
            }
            peer.reply(to: frame) { $0.put(made) }
        case .utcOffset:
            let asked = try reader.value(ZoneMessage.self)
            let offset = services.utcOffset(zone: asked.zone, unixMs: asked.unixMs)
            peer.reply(to: frame) { $0.put(offset) }
        case .certificate: try certificate(&reader, frame, peer)
        case .identity: try identity(&reader, frame, peer)
        case .readFile:
            let path = try reader.text()
            // Only files of its own secrets.
            let bytes = secrets.isFile(path) ? services.readFile(path) : nil
            peer.reply(to: frame) { $0.put(bytes.map { WireBytes($0) }) }
        case .metric: try metric(&reader, frame, peer)
        case .call, .value, .set, .keys, .edit, .devices, .device, .change:
            try later(method, &reader, frame, peer)
        case .log: try log(&reader)
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
            services.shortened(instance: name, field: Self.cut(try reader.text()))
        case .misbehaved:
            services.misbehaved(instance: name, Self.cut(try reader.text()))
        default: return false
        }
        try reader.end()
        return true
    }

    // MARK: Calls with a reply

    private func sign(
        _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let asked = try reader.value(SignMessage.self)
        let made = result { () throws(PluginFault) in
            WireBytes(
                try services.sign(asked.algorithm, key: asked.key, data: asked.data))
        }
        peer.reply(to: frame) { $0.put(made) }
    }

    private func verify(
        _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let asked = try reader.value(SignMessage.self)
        let fits = result { () throws(PluginFault) in
            try services.verify(
                asked.algorithm, key: asked.key, data: asked.data,
                signature: asked.signature ?? [])
        }
        peer.reply(to: frame) { $0.put(fits) }
    }

    private func certificate(
        _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let asked = try reader.value(CertificateMessage.self)
        let found = result { () throws(PluginFault) in
            try services.certificate(asked.bytes, password: asked.password)
        }
        peer.reply(to: frame) { $0.put(found) }
    }

    private func identity(
        _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let asked = try reader.value(CertificateMessage.self)
        let found = result { () throws(PluginFault) in
            let made = try services.identity(asked.bytes, password: asked.password)
            return IdentityMessage(certificate: made.certificate, key: made.key)
        }
        peer.reply(to: frame) { $0.put(found) }
    }

    private func metric(
        _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let asked = try reader.value(MetricMessage.self)
        let isKept = metrics.withLock { metrics in
            guard metrics.count < Self.metricsMax, !MetricHandles.isReserved(asked.name),
                let metric = services.metric(
                    instance: name, name: asked.name, labels: asked.labels,
                    isGauge: asked.isGauge)
            else { return false }
            metrics[asked.number] = metric
            return true
        }
        peer.reply(to: frame) { $0.put(isKept) }
    }

    private func log(_ reader: inout WireReader) throws(WireFault) {
        let line = try reader.value(LogMessage.self)
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

    private func result<Value: WireValue>(
        _ body: () throws(PluginFault) -> Value
    ) -> WireResult<Value> {
        do throws(PluginFault) {
            return WireResult(.success(try body()))
        } catch {
            return WireResult(.failure(error))
        }
    }

    // MARK: Calls with a later answer

    private func later(
        _ method: WireMethod, _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) {
        let start = try starter(method, &reader)
        guard answersCount.load(ordering: .relaxed) < Self.answersMax else {
            let full = PluginFault(.again, "too many calls are waiting for an answer")
            peer.reply(to: frame) { $0.put(WireResult<WireNothing>(.failure(full))) }
            return
        }
        answersCount.wrappingAdd(1, ordering: .relaxed)
        let begun = result { () throws(PluginFault) in
            try start { [self] write in
                answersCount.wrappingSubtract(1, ordering: .relaxed)
                if peer.answer(frame, write) { return }
                let tooLong = PluginFault(.tooLarge, "the answer is too long")
                peer.answer(frame) { $0.put(WireResult<WireNothing>(.failure(tooLong))) }
            }
            return WireNothing()
        }
        if case .failure = begun.result { answersCount.wrappingSubtract(1, ordering: .relaxed) }
        peer.reply(to: frame) { $0.put(begun) }
    }

    private typealias Answer = @Sendable ((WireWriter) -> Void) -> Void

    /// Reads the arguments of a call, and returns a function that starts it.
    private func starter(
        _ method: WireMethod, _ reader: inout WireReader
    ) throws(WireFault) -> (@escaping Answer) throws(PluginFault) -> Void {
        let (services, name) = (services, name)
        switch method {
        case .call:
            let call = try reader.value(PluginHTTPCall.self)
            return { answer throws(PluginFault) in
                try services.call(call) { result in answer { $0.put(WireResult(result)) } }
            }
        case .value:
            let key = try reader.text()
            return { answer throws(PluginFault) in
                try services.value(instance: name, key: key) { result in
                    let found = result.map { $0.map { WireBytes($0) } }
                    answer { $0.put(WireResult(found)) }
                }
            }
        case .set:
            let asked = try reader.value(SetMessage.self)
            guard asked.key.utf8.count <= KVService.keyBytesMax,
                (asked.value?.count ?? 0) <= KVService.valueBytesMax
            else { throw WireFault("a durable value is too large") }
            return { answer throws(PluginFault) in
                try services.set(
                    instance: name, key: asked.key, value: asked.value,
                    expiresUnixMs: asked.expiresUnixMs
                ) { fault in answer { $0.put(Self.nothing(fault)) } }
            }
        case .keys:
            let asked = try reader.value(KeysMessage.self)
            guard (1...KVService.pageMax).contains(asked.limit) else {
                throw WireFault("a page of keys is too large")
            }
            return { answer throws(PluginFault) in
                try services.keys(
                    instance: name, prefix: asked.prefix, after: asked.after,
                    limit: Int(asked.limit)
                ) { result in answer { $0.put(WireResult(result)) } }
            }
        case .edit:
            let asked = try reader.value(EditMessage.self)
            guard asked.isSound else { throw WireFault("a durable value is too large") }
            return { answer throws(PluginFault) in
                try services.edit(instance: name, key: asked.key, asked.edit) { result in
                    answer { $0.put(WireResult(result)) }
                }
            }
        case .devices:
            let asked = try reader.value(DevicesMessage.self)
            return { answer throws(PluginFault) in
                try services.devices(app: asked.app, user: asked.name) { result in
                    answer { $0.put(WireResult(result)) }
                }
            }
        case .device:
            let asked = try reader.value(DevicesMessage.self)
            return { answer throws(PluginFault) in
                try services.device(app: asked.app, token: asked.name) { result in
                    answer { $0.put(WireResult(result)) }
                }
            }
        default:
            let change = try reader.value(DeviceChange.self)
            guard change.isSound else { throw WireFault("a change is malformed") }
            return { answer throws(PluginFault) in
                try services.change(instance: name, change) { fault in
                    answer { $0.put(Self.nothing(fault)) }
                }
            }
        }
    }

    private static func nothing(_ fault: PluginFault?) -> WireResult<WireNothing> {
        WireResult(fault.map { .failure($0) } ?? .success(WireNothing()))
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
