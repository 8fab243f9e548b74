internal import SignalboxCore
internal import Synchronization

/// The metrics of one instance by handle.
///
/// `@unchecked Sendable`: a slot is written once, under the lock, before its handle is returned;
/// after that it is only read.
final class MetricHandles: @unchecked Sendable {
    private static let seriesMax = 1_000

    private struct Key: Hashable {
        var name: String
        var labels: [Attribute]
        var isGauge: Bool
    }

    private let instance: String
    private let services: any HostServices
    private let slots: UnsafeMutablePointer<(any PluginMetric)?>
    private let known = Mutex<[Key: UInt64]>([:])

    init(instance: String, services: any HostServices) {
        self.instance = instance
        self.services = services
        slots = .allocate(capacity: Self.seriesMax + 1)
        slots.initialize(repeating: nil, count: Self.seriesMax + 1)
    }

    deinit {
        slots.deinitialize(count: Self.seriesMax + 1)
        slots.deallocate()
    }

    func handle(_ name: String, _ labels: [Attribute], isGauge: Bool) -> UInt64 {
        let isName =
            !name.isEmpty && name.utf8.count <= 100
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_")
            }
        guard isName, !Self.isReserved(name) else { return 0 }
        let key = Key(name: name, labels: labels, isGauge: isGauge)
        return known.withLock { known in
            if let handle = known[key] { return handle }
            let number = known.count + 1
            guard number <= Self.seriesMax,
                let metric = services.metric(
                    instance: instance, name: name, labels: labels, isGauge: isGauge)
            else { return 0 }
            slots[number] = metric
            known[key] = UInt64(number)
            return UInt64(number)
        }
    }

    /// Whether the gateway itself keeps a metric of this name for instances.
    static func isReserved(_ name: String) -> Bool {
        ["up", "restarts_total", "faults_total"].contains(name)
    }

    func metric(_ handle: UInt64) -> (any PluginMetric)? {
        guard handle >= 1, handle <= UInt64(Self.seriesMax) else { return nil }
        return slots[Int(handle)]
    }
}
