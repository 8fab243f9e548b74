import CSignalbox
import PluginRig
import SignalboxPluginHost
import SignalboxPluginKit
import Synchronization

/// The probe as a library in a real host.
enum Rig {
    static let library = Result {
        try PluginLibrary.linked(
            "probe", entry: unsafeBitCast(Probe.entry, to: UnsafeRawPointer.self))
    }

    private static let last = Atomic<Int>(0)

    struct Failure: Error {}

    /// A started instance, and its plugin's host.
    static func probe(
        _ services: RigServices, isVirtual: Bool = false, secrets: [String: [UInt8]] = [:]
    ) async throws -> (PluginInstance, Host) {
        services.isVirtual = isVirtual
        let name = "probe-\(last.add(1, ordering: .relaxed).newValue)"
        let instance = try await PluginInstance.create(
            name: name, library: try library.get(),
            config: CheckedConfig(
                json: .object([]), secrets: secrets.mapValues { PluginSecret(bytes: $0) }),
            version: "9.8",
            services: services)
        try await instance.start()
        guard let host = Probe.hosts.withLock({ $0.removeValue(forKey: name) }) else {
            throw Failure()
        }
        return (instance, host)
    }
}
