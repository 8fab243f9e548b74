internal import CSignalbox

/// `sbx.observe-host/1`.
enum ObserveHostService {
    static var table: sbx_observe_host {
        var table = sbx_observe_host()
        table.done = { host, sequence, status, retryAfterMs in
            guard let context = InstanceContext.from(host) else { return }
            context.observer.done(sequence, ObserveVerdict(status, retryAfterMs: retryAfterMs))
        }
        return table
    }
}
