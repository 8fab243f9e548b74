internal import CSignalbox

/// A closure that C gets as a context and passes back once.
final class Pending<Answer> {
    let body: (Answer) -> Void

    init(_ body: @escaping (Answer) -> Void) { self.body = body }

    func pass() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func take(_ context: UnsafeMutableRawPointer?) -> Pending? {
        context.map { Unmanaged<Pending>.fromOpaque($0).takeRetainedValue() }
    }
}

/// Calls whose answer comes later.
///
/// Each calls its closure exactly once, on a worker thread, where parsed JSON may be read until the closure
/// returns. If the host rejects a call, the closure gets the error before the call returns.
extension Host {
    /// Receives the result of a call.
    public typealias Later<Value> = @Sendable (Result<Value, PluginError>) -> Void

    func send<Value>(
        _ done: @escaping Later<Value>,
        _ start: (UnsafeMutableRawPointer) -> sbx_status
    ) {
        let pending = Pending<Result<Value, PluginError>>(done)
        let context = pending.pass()
        let status = start(context)
        guard status != SBX_OK else { return }
        _ = Pending<Result<Value, PluginError>>.take(context)
        done(.failure(PluginError(.init(code: status), Self.words(status))))
    }

    static func words(_ status: sbx_status) -> String {
        switch status {
        case SBX_E_AGAIN: "the host cannot take the call now"
        case SBX_E_STOPPING: "the host is stopping"
        case SBX_E_UNSUPPORTED: "the host does not offer the service"
        case SBX_E_UNREACHABLE: "the destination cannot be reached"
        case SBX_E_TIMEOUT: "the call took too long"
        case SBX_E_TOO_LARGE: "the call or its answer is too large"
        case SBX_E_LOST: "the connection was lost"
        default: "the host rejected the call (status \(status))"
        }
    }

    // MARK: REST

    /// Makes a REST call.
    public func send(_ call: HTTPCall, then done: @escaping Later<HTTPAnswer>) {
        guard let http else {
            done(.failure(PluginError(.unsupported, Self.words(SBX_E_UNSUPPORTED))))
            return
        }
        let arena = Arena()
        let given = call.raw(arena)
        send(done) { context in
            http.pointee.submit(
                raw, given,
                { context, answer in
                    guard let pending = Pending<Result<HTTPAnswer, PluginError>>.take(context),
                        let answer = answer?.known(sbx_http_answer())
                    else { return }
                    pending.body(HTTPAnswer.read(answer))
                }, context)
        }
    }

    // MARK: Registry

    /// Devices of a user of an app, or of every app if `app` is empty; newest first.
    public func devices(app: String, user: String, then done: @escaping Later<[Device]>) {
        registryCall(done) { registry, arena, context in
            registry.pointee.devices(
                raw, arena.text(app), arena.text(user), Self.devicesDone, context)
        }
    }

    /// The device with a token, if it is known.
    public func device(app: String, token: String, then done: @escaping Later<Device?>) {
        registryCall({ done($0.map(\.first)) }) { registry, arena, context in
            registry.pointee.find(
                raw, arena.text(app), arena.text(token), Self.devicesDone, context)
        }
    }

    /// Reports a device change outside of a request; it is durable once `done` gets a success.
    public func change(_ change: DeviceChange, then done: @escaping Later<Void>) {
        registryCall({ done($0.map { _ in }) }) { registry, arena, context in
            let given = arena.array(sbx_change.self, 1)
            change.write(to: given, arena)
            return registry.pointee.change(raw, given, Self.devicesDone, context)
        }
    }

    private func registryCall(
        _ done: @escaping Later<[Device]>,
        _ start: (UnsafePointer<sbx_registry>, Arena, UnsafeMutableRawPointer) -> sbx_status
    ) {
        guard let registry else {
            done(.failure(PluginError(.unsupported, Self.words(SBX_E_UNSUPPORTED))))
            return
        }
        let arena = Arena()
        send(done) { start(registry, arena, $0) }
    }

    private static let devicesDone: sbx_registry_done = { context, status, devices, count, stride in
        let pending = Pending<Result<[Device], PluginError>>.take(context)
        guard status == SBX_OK else {
            pending?.body(.failure(PluginError(.init(code: status), Host.words(status))))
            return
        }
        let list = devices.map { start in
            (0..<count).map { Device(start.element($0, stride)) }
        }
        pending?.body(.success(list ?? []))
    }
}
