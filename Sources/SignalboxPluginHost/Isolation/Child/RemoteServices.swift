internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The host's services in the process of an isolated plugin. Calls that need the gateway go to it; threads
/// and timers are local.
final class RemoteServices: HostServices {
    private let peer: WirePeer
    private let logLevels: UInt32
    private let asksForTime: Bool
    private let workers: WorkerThreads
    private let alarms = AlarmClock()
    private let metricsCount = Atomic<UInt32>(0)

    init(_ peer: WirePeer, logLevels: UInt32, asksForTime: Bool, workers: WorkerThreads) {
        self.peer = peer
        self.logLevels = logLevels
        self.asksForTime = asksForTime
        self.workers = workers
    }

    let isRemote = true
    var hasSystemClock: Bool { !asksForTime }

    var nowUnixMs: UInt64 {
        guard asksForTime else { return SystemClock.unixMs }
        return (try? ask(HostCalls.now)) ?? SystemClock.unixMs
    }

    func isLogged(_ level: PluginLogLevel) -> Bool { logLevels & 1 << level.rawValue != 0 }

    // MARK: Notices

    func log(instance: String, level: PluginLogLevel, message: String, fields: [Attribute]) {
        tell(.log) { $0.put(LogMessage(level: level, message: message, fields: fields)) }
    }

    func shortened(instance: String, field: String) { tell(.shortened) { $0.put(field) } }

    func misbehaved(instance: String, _ what: String) { tell(.misbehaved) { $0.put(what) } }

    func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)? {
        let number = metricsCount.wrappingAdd(1, ordering: .relaxed).newValue
        let asked = MetricMessage(number: number, name: name, labels: labels, isGauge: isGauge)
        let isKept: Bool? = reply(to: .metric) { $0.put(asked) }
        return isKept == true ? RemoteMetric(number: number, services: self) : nil
    }

    /// Blocks a plugin that sends faster than the gateway reads.
    fileprivate func tell(_ method: WireMethod, _ write: (WireWriter) -> Void) {
        peer.channel.waitForRoom()
        peer.tell(method, write)
    }

    // MARK: Calls

    func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        try ask(HostCalls.sign, algorithm, key, data)
    }

    func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        try ask(HostCalls.verify, algorithm, key, data, signature)
    }

    func publicKey(_ form: PublicKeyForm, key: [UInt8]) throws(PluginFault) -> [UInt8] {
        try ask(HostCalls.publicKey, form, key)
    }

    func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        (try? ask(HostCalls.utcOffset, zone, unixMs)) ?? nil
    }

    func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        try ask(HostCalls.certificate, bytes, password)
    }

    func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        let made = try ask(HostCalls.identity, bytes, password)
        return (made.certificate, made.key)
    }

    func readFile(_ path: String) -> [UInt8]? { (try? ask(HostCalls.readFile, path)) ?? nil }

    // MARK: Calls with a later answer

    func call(
        _ call: PluginHTTPCall, done: @escaping HostAnswer<PluginHTTPAnswer>
    ) throws(PluginFault) {
        try ask(HostCalls.call, call, done: done)
    }

    func value(
        instance: String, key: String, done: @escaping HostAnswer<[UInt8]?>
    ) throws(PluginFault) {
        try ask(HostCalls.value, key, done: done)
    }

    func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        try ask(HostCalls.set, key, value, expiresUnixMs) { done(Self.fault($0)) }
    }

    func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping HostAnswer<[String]>
    ) throws(PluginFault) {
        try ask(HostCalls.keys, prefix, after, limit, done: done)
    }

    func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping HostAnswer<KeyValueEdited>
    ) throws(PluginFault) {
        try ask(HostCalls.edit, key, edit, done: done)
    }

    func devices(
        app: String, user: String, done: @escaping HostAnswer<[Device]>
    ) throws(PluginFault) {
        try ask(HostCalls.devices, app, user, done: done)
    }

    func device(
        app: String, token: String, done: @escaping HostAnswer<Device?>
    ) throws(PluginFault) {
        try ask(HostCalls.device, app, token, done: done)
    }

    func change(
        instance: String, _ change: DeviceChange, done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        try ask(HostCalls.change, change) { done(Self.fault($0)) }
    }

    private static func fault(_ result: Result<WireNothing, PluginFault>) -> PluginFault? {
        if case .failure(let fault) = result { fault } else { nil }
    }

    // MARK: Local services

    func onWorker(_ work: @escaping @Sendable () -> Void) { workers.submitBounded(work) }

    func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void) {
        let workers = workers
        alarms.after(ms: ms) { workers.submitBounded(work) }
    }

    // MARK: Sending

    private static let gone = PluginFault(.stopping, "the gateway is gone")

    private func reply<Answer: WireValue>(
        to method: WireMethod, _ write: (WireWriter) -> Void
    ) -> Answer? {
        guard case .success(let frame) = peer.call(method, write) else { return nil }
        return try? Answer(reading: frame)
    }

    private func ask<Answer, each Sent>(
        _ call: HostCall<Answer, repeat each Sent>, _ sent: repeat each Sent
    ) throws(PluginFault) -> Answer {
        let answer: WireResult<Answer>? = reply(to: call.method) { repeat $0.put(each sent) }
        guard let answer else { throw Self.gone }
        return try answer.result.get()
    }

    private func ask<Answer, each Sent>(
        _ call: LaterHostCall<Answer, repeat each Sent>, _ sent: repeat each Sent,
        done: @escaping HostAnswer<Answer>
    ) throws(PluginFault) {
        let called = peer.call(
            call.method,
            onAnswer: { frame in
                let answer = frame.flatMap { try? WireResult<Answer>(reading: $0) }
                done(answer?.result ?? .failure(Self.gone))
            }, { repeat $0.put(each sent) })
        guard case .success(let frame) = called,
            let begun = try? WireResult<WireNothing>(reading: frame)
        else { throw Self.gone }
        if case .failure(let fault) = begun.result {
            peer.forget(frame.call)
            throw fault
        }
    }
}

private struct RemoteMetric: PluginMetric {
    let number: UInt32
    let services: RemoteServices

    func add(_ delta: Int64) { tell(delta, isSet: false) }
    func set(_ value: Int64) { tell(value, isSet: true) }

    private func tell(_ value: Int64, isSet: Bool) {
        services.tell(.count) {
            $0.put(CountMessage(number: number, isSet: isSet, value: value))
        }
    }
}
