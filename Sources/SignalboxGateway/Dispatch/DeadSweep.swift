internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxObservability
internal import SignalboxThreads

/// Removes dead letters that are too old or too many (`gateway.dead`).
///
/// Every gateway of a fleet does this; what one has removed, the others do not find.
final class DeadSweep: Sendable {
    private static let pauseMs: UInt64 = 30_000
    private static let partMax = 1_000

    private let store: any GatewayStore
    private let current: CurrentGeneration
    private let runtime: GatewayRuntime

    init(_ store: any GatewayStore, _ current: CurrentGeneration, _ runtime: GatewayRuntime) {
        (self.store, self.current, self.runtime) = (store, current, runtime)
    }

    /// Removes the excess now and periodically.
    func start() {
        Task { [weak self] in
            await self?.trim()
            await self?.count()
            self?.runtime.alarms.after(ms: Self.pauseMs) { [weak self] in self?.start() }
        }
    }

    private func count() async {
        guard let count = try? await store.deadCount(DeadFilter()) else { return }
        runtime.metrics.deadStored.set(Double(count))
    }

    /// In batches, so that other work does not wait. A failed batch is retried at the next run.
    private func trim() async {
        let limits = current.generation.plan.config.gateway.dead.limits
        while let trim = try? await store.trimDead(limits, max: Self.partMax) {
            runtime.metrics.deadRemoved["old"].add(Int64(trim.old))
            runtime.metrics.deadRemoved["surplus"].add(Int64(trim.surplus))
            if trim.surplus > 0 {
                runtime.logger.warning(
                    "dead letters removed, there are too many",
                    metadata: ["count": "\(trim.surplus)"])
            }
            if max(trim.old, trim.surplus) < Self.partMax { return }
        }
    }
}
