internal import CSignalbox
internal import Logging
internal import Signalbox
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// What an `sbx_gateway` points to.
final class GatewayHandle: Sendable {
    private enum State {
        case made(GatewayOptions)
        case running(Gateway)
        case ended
    }

    private let state: Mutex<State>

    init(_ options: GatewayOptions) { state = Mutex(.made(options)) }

    /// The gateway that a host's pointer leads to.
    static func from(_ pointer: OpaquePointer?) -> GatewayHandle? {
        pointer.map {
            Unmanaged<GatewayHandle>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue()
        }
    }

    /// The pointer for the host; it keeps this object alive until `release`.
    var retained: OpaquePointer { OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

    static func release(_ pointer: OpaquePointer) {
        Unmanaged<GatewayHandle>.fromOpaque(UnsafeRawPointer(pointer)).release()
    }

    /// The gateway, nil unless it runs.
    var gateway: Gateway? {
        state.withLock { if case .running(let gateway) = $0 { gateway } else { nil } }
    }

    /// Adds a plugin that is linked into the program; false if the gateway was started before.
    func addPlugin(_ name: String, entry: UnsafeRawPointer) throws(LoadFault) -> Bool {
        // The lock is released while the plugin's entry runs.
        let now = state.withLock { state -> GatewayOptions? in
            if case .made(let options) = state { options } else { nil }
        }
        guard var options = now else { return false }
        try options.addPlugin(name, entry: entry)
        let changed = options
        return state.withLock { state in
            guard case .made = state else { return false }
            state = .made(changed)
            return true
        }
    }

    /// Starts the gateway; nil if it was started before.
    func start() -> Result<Void, any Error>? {
        let options = state.withLock { state -> GatewayOptions? in
            guard case .made(let options) = state else { return nil }
            state = .ended
            return options
        }
        guard let options else { return nil }
        let result = Blocking.value {
            do {
                return Result<Gateway, any Error>.success(try await Gateway.start(options))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let gateway):
            state.withLock { $0 = .running(gateway) }
            return .success(())
        case .failure(let error):
            if let faults = (error as? ConfigurationError)?.diagnostics {
                for fault in faults {
                    options.logger?.error(
                        "configuration fault", metadata: ["fault": "\(fault)"])
                }
            }
            // The host may try again: an address may be free by then.
            state.withLock { $0 = .made(options) }
            return .failure(error)
        }
    }

    func end() {
        let gateway = state.withLock { state -> Gateway? in
            defer { state = .ended }
            if case .running(let gateway) = state { return gateway }
            return nil
        }
        if let gateway { Blocking.value { _ = await gateway.stop() } }
    }
}

/// Lets a thread of the host wait for asynchronous code.
enum Blocking {
    static func value<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let gate = Gate<Value?>(nil)
        Task {
            let value = await body()
            gate.update { $0 = value }
        }
        return gate.wait { $0 }
    }
}
