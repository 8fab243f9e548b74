internal import CSignalbox
internal import Glibc
internal import Signalbox
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// What an `sbx_gateway` points to.
final class GatewayHandle: Sendable {
    private enum Stage {
        case made
        case running(Gateway)
        case ended
    }

    private struct State {
        var options: GatewayOptions
        var stage = Stage.made
    }

    private let state: Mutex<State>
    /// The process that has started it; 0: none has. A child that a program forks has none of the gateway's threads, and
    /// a lock may be held forever there.
    private let process = Atomic<Int32>(0)

    init(_ options: GatewayOptions) { state = Mutex(State(options: options)) }

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

    /// It was started by the parent of this process.
    private var isForked: Bool {
        let owner = process.load(ordering: .relaxed)
        return owner != 0 && owner != getpid()
    }

    /// The gateway, nil unless it runs in this process.
    var gateway: Gateway? {
        if isForked { return nil }
        return state.withLock { if case .running(let gateway) = $0.stage { gateway } else { nil } }
    }

    /// What it is or will be started with.
    var options: GatewayOptions { state.withLock { $0.options } }

    /// Adds a plugin that is linked into the program; false if the gateway was started before.
    func addPlugin(_ name: String, entry: UnsafeRawPointer) throws(LoadFault) -> Bool {
        // The lock is released while the plugin's entry runs.
        let now = state.withLock { state -> GatewayOptions? in
            if case .made = state.stage { state.options } else { nil }
        }
        guard var options = now else { return false }
        try options.addPlugin(name, entry: entry)
        let changed = options
        return state.withLock { state in
            guard case .made = state.stage else { return false }
            state.options = changed
            return true
        }
    }

    /// Starts the gateway; nil if it was started before.
    func start() -> Result<Void, any Error>? {
        if isForked { return nil }
        let options = state.withLock { state -> GatewayOptions? in
            guard case .made = state.stage else { return nil }
            state.stage = .ended
            return state.options
        }
        guard let options else { return nil }
        process.store(getpid(), ordering: .relaxed)
        let result = Blocking.value {
            do {
                return Result<Gateway, any Error>.success(try await Gateway.start(options))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let gateway):
            state.withLock { $0.stage = .running(gateway) }
            return .success(())
        case .failure(let error):
            if let error = error as? ConfigurationError { options.logFaults(error) }
            // The host may try again: an address may be free by then.
            state.withLock { $0.stage = .made }
            process.store(0, ordering: .relaxed)
            return .failure(error)
        }
    }

    func end() {
        if isForked { return }
        let gateway = state.withLock { state -> Gateway? in
            defer { state.stage = .ended }
            if case .running(let gateway) = state.stage { return gateway }
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
