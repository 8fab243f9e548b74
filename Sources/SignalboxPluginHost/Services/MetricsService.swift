internal import CSignalbox

/// `sbx.metrics/1`.
enum MetricsService {
    static var table: sbx_metrics {
        var table = sbx_metrics()
        table.counter = { host, name, labels, count in
            InstanceContext.from(host)?.metrics.handle(
                name.text, KeyValues.copy(labels, count), isGauge: false) ?? 0
        }
        table.gauge = { host, name, labels, count in
            InstanceContext.from(host)?.metrics.handle(
                name.text, KeyValues.copy(labels, count), isGauge: true) ?? 0
        }
        table.add = { host, handle, delta in
            InstanceContext.from(host)?.metrics.metric(handle)?.add(
                MetricsService.bounded(Int64(clamping: delta)))
        }
        table.set = { host, handle, value in
            InstanceContext.from(host)?.metrics.metric(handle)?.set(value)
        }
        return table
    }

    /// A counter never goes back, and nobody counts as many at once that it overflows.
    static func bounded(_ delta: Int64) -> Int64 { min(max(delta, 0), 1 << 40) }
}
