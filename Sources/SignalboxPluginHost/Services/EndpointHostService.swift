internal import CSignalbox

/// `sbx.endpoint-host/1`.
enum EndpointHostService {
    static var table: sbx_endpoint_host {
        var table = sbx_endpoint_host()
        table.changed = { host in
            guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
            // The questions come on the control thread, after this call has returned.
            guard context.calls.enter() else { return SBX_E_STOPPING }
            context.services.onWorker {
                defer { context.calls.leave() }
                context.endpointsChanged()
            }
            return SBX_OK
        }
        return table
    }
}
