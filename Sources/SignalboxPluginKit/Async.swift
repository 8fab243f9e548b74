internal import CSignalbox

/// A closure that C gets as a context and calls back once with an answer.
final class Pending<Answer> {
    private let body: (sbx_status, Answer) -> Void

    init(_ body: @escaping (sbx_status, Answer) -> Void) { self.body = body }

    func pass() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Passes on what the host answered.
    static func end(
        _ context: UnsafeMutableRawPointer?, _ status: sbx_status, _ answer: Answer
    ) {
        guard let context else { return }
        Unmanaged<Pending>.fromOpaque(context).takeRetainedValue().body(status, answer)
    }
}

/// The shapes of a call into the host. A call returns nil if the host does not offer the function.
extension Host {
    /// For functions that return a status; `why` says what it means that they failed.
    func check(_ why: @autoclosure () -> String, _ call: () -> sbx_status?) throws(PluginError) {
        let status = call() ?? SBX_E_UNSUPPORTED
        guard status == SBX_OK else {
            let isOffered = status != SBX_E_UNSUPPORTED
            throw PluginError(.init(code: status), isOffered ? why() : PluginError.words(status))
        }
    }

    /// For functions that say themselves why they failed.
    func explained(
        _ call: (UnsafeMutablePointer<sbx_error>) -> sbx_status?
    ) throws(PluginError) {
        var error = sbx_error.fresh
        let status = call(&error) ?? SBX_E_UNSUPPORTED
        guard status == SBX_OK else { throw PluginError(code: status, error: error) }
    }

    /// For functions that fill a buffer, which is made larger if they ask for it.
    func filled(
        capacity: Int,
        _ call: (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>, UnsafeMutablePointer<sbx_error>
        ) -> sbx_status?
    ) throws(PluginError) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: capacity)
        var length = capacity
        func fill(_ error: UnsafeMutablePointer<sbx_error>) -> sbx_status? {
            room.withUnsafeMutableBytes { call($0.baseAddress, &length, error) }
        }
        do throws(PluginError) {
            try explained(fill)
        } catch {
            guard error.status == .tooLarge, length > capacity else { throw error }
            room = [UInt8](repeating: 0, count: length)
            try explained(fill)
        }
        room.removeLast(room.count - length)
        return room
    }
}

/// Calls whose answer comes later.
///
/// Each calls its closure exactly once, on a worker thread, where parsed JSON may be read until the closure
/// returns. If the host rejects a call, the closure gets the error before the call returns.
extension Host {
    /// Receives the result of a call.
    public typealias Later<Value> = @Sendable (Result<Value, PluginError>) -> Void

    /// Starts a call. The host's callback ends a `Pending` of this `Answer`.
    func send<Value, Answer>(
        _ done: @escaping Later<Value>,
        _ read: @escaping (sbx_status, Answer) -> Result<Value, PluginError>,
        _ start: (UnsafeMutableRawPointer, Arena) -> sbx_status?
    ) {
        let pending = Pending<Answer> { done(read($0, $1)) }
        let context = pending.pass()
        let status = start(context, Arena()) ?? SBX_E_UNSUPPORTED
        guard status != SBX_OK else { return }
        Unmanaged<Pending<Answer>>.fromOpaque(context).release()
        done(Self.failure(status))
    }

    static func failure<Value>(_ status: sbx_status) -> Result<Value, PluginError> {
        .failure(PluginError(.init(code: status), PluginError.words(status)))
    }

    static func result<Value>(_ status: sbx_status, _ value: Value) -> Result<Value, PluginError> {
        status == SBX_OK ? .success(value) : failure(status)
    }

    // MARK: REST

    /// Makes a REST call.
    public func send(_ call: HTTPCall, then done: @escaping Later<HTTPAnswer>) {
        send(done, Self.result) { context, arena in
            services.http.submit?(
                raw, call.raw(arena),
                { context, answer in
                    let given = answer?.known(sbx_http_answer())
                    Pending.end(
                        context, given?.status ?? SBX_E_INTERNAL,
                        HTTPAnswer(given ?? sbx_http_answer()))
                }, context)
        }
    }

    // MARK: Registry

    /// Devices of a user of an app, or of every app if `app` is empty; newest first.
    public func devices(app: String, user: String, then done: @escaping Later<[Device]>) {
        send(done, Self.result) { context, arena in
            services.registry.devices?(
                raw, arena.text(app), arena.text(user), Self.devicesDone, context)
        }
    }

    /// The device with a token, if it is known.
    public func device(app: String, token: String, then done: @escaping Later<Device?>) {
        send(done, { (status, found: [Device]) in Self.result(status, found.first) }) {
            context, arena in
            services.registry.find?(
                raw, arena.text(app), arena.text(token), Self.devicesDone, context)
        }
    }

    /// Reports a device change outside of a request; it is durable once `done` gets a success.
    public func change(_ change: DeviceChange, then done: @escaping Later<Void>) {
        send(done, { (status, _: [Device]) in Self.result(status, ()) }) { context, arena in
            let given = arena.array(sbx_change.self, 1)
            change.write(to: given, arena)
            return services.registry.change?(raw, given, Self.devicesDone, context)
        }
    }

    private static let devicesDone: sbx_registry_done = { context, status, devices, count, stride in
        let list = devices.map { start in
            (0..<count).map { Device(start.element($0, stride)) }
        }
        Pending.end(context, status, list ?? [])
    }
}
