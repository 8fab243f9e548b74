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
    private let caller: HostCaller
    private let metrics = Mutex<[UInt32: any PluginMetric]>([:])
    private let logQuota = LogQuota()
    /// Calls whose answer is still to come.
    private let answersCount = Atomic<Int>(0)

    init(name: String, services: any HostServices, secrets: SecretBox) {
        caller = HostCaller(name: name, services: services, secrets: secrets)
    }

    /// Serves a call or a notice. False if the method is not a host service.
    func handle(
        _ method: WireMethod, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) -> Bool {
        var reader = frame.reader
        var isKnown = try tell(method, &reader)
        if !isKnown { isKnown = try answer(method, &reader, frame, peer) }
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
            caller.services.shortened(instance: caller.name, field: Self.cut(try reader.value()))
        case .misbehaved:
            caller.services.misbehaved(instance: caller.name, Self.cut(try reader.value()))
        default: return false
        }
        return true
    }

    private func log(_ line: LogMessage) {
        let isAdmitted = logQuota.admits {
            caller.services.log(instance: caller.name, level: .warn, message: $0, fields: [])
        }
        guard isAdmitted else { return }
        caller.services.log(
            instance: caller.name, level: line.level, message: Self.cut(line.message),
            fields: line.fields.prefix(Self.fieldsMax).map {
                Attribute(Self.cut($0.key), Self.cut($0.value))
            })
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= lineBytesMax ? text : String(text.prefix(lineBytesMax / 4))
    }

    // MARK: Calls

    private func answer(
        _ method: WireMethod, _ reader: inout WireReader, _ frame: WireFrame, _ peer: WirePeer
    ) throws(WireFault) -> Bool {
        func reply<Answer, each Sent>(
            _ call: HostCall<Answer, repeat each Sent>
        ) throws(WireFault) {
            let result = try call.serve(caller, &reader)
            peer.reply(to: frame) { $0.put(WireResult(result)) }
        }
        func begin<Answer, each Sent>(
            _ call: LaterHostCall<Answer, repeat each Sent>
        ) throws(WireFault) {
            later(frame, peer, try call.read(caller, &reader))
        }
        switch method {
        case .now: try reply(HostCalls.now)
        case .sign: try reply(HostCalls.sign)
        case .verify: try reply(HostCalls.verify)
        case .publicKey: try reply(HostCalls.publicKey)
        case .utcOffset: try reply(HostCalls.utcOffset)
        case .certificate: try reply(HostCalls.certificate)
        case .identity: try reply(HostCalls.identity)
        case .readFile: try reply(HostCalls.readFile)
        case .metric:
            let isKept = metric(try reader.value())
            peer.reply(to: frame) { $0.put(isKept) }
        case .call: try begin(HostCalls.call)
        case .value: try begin(HostCalls.value)
        case .set: try begin(HostCalls.set)
        case .keys: try begin(HostCalls.keys)
        case .edit: try begin(HostCalls.edit)
        case .devices: try begin(HostCalls.devices)
        case .device: try begin(HostCalls.device)
        case .change: try begin(HostCalls.change)
        default: return false
        }
        return true
    }

    private func metric(_ asked: MetricMessage) -> Bool {
        metrics.withLock { metrics in
            guard metrics.count < Self.metricsMax, !MetricHandles.isReserved(asked.name),
                let metric = caller.services.metric(
                    instance: caller.name, name: asked.name, labels: asked.labels,
                    isGauge: asked.isGauge)
            else { return false }
            metrics[asked.number] = metric
            return true
        }
    }

    /// Replies whether the call has begun; what it calls back with is the answer.
    private func later<Answer: WireValue>(
        _ frame: WireFrame, _ peer: WirePeer,
        _ start: (@escaping HostAnswer<Answer>) throws(PluginFault) -> Void
    ) {
        guard answersCount.load(ordering: .relaxed) < Self.answersMax else {
            let full = PluginFault(.again, "too many calls are waiting for an answer")
            peer.reply(to: frame) { $0.put(WireResult<WireNothing>(.failure(full))) }
            return
        }
        answersCount.wrappingAdd(1, ordering: .relaxed)
        let begun = WireResult { () throws(PluginFault) in
            try start { [self] result in
                answersCount.wrappingSubtract(1, ordering: .relaxed)
                if peer.answer(frame, { $0.put(WireResult(result)) }) { return }
                let tooLong = PluginFault(.tooLarge, "the answer is too long")
                peer.answer(frame) { $0.put(WireResult<Answer>(.failure(tooLong))) }
            }
            return WireNothing()
        }
        if case .failure = begun.result { answersCount.wrappingSubtract(1, ordering: .relaxed) }
        peer.reply(to: frame) { $0.put(begun) }
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
