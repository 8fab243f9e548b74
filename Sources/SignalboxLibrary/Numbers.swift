public import CSignalbox
internal import Signalbox

// The functions of gateway.h that report on a gateway; gateway.h documents them.

/// The port of `gateway.listen`; see gateway.h.
@c @implementation
public func sbx_gateway_listen_port(_ gateway: OpaquePointer?) -> UInt32 {
    UInt32(GatewayHandle.from(gateway)?.gateway?.port ?? 0)
}

/// The port of `gateway.admin`; see gateway.h.
@c @implementation
public func sbx_gateway_admin_port(_ gateway: OpaquePointer?) -> UInt32 {
    UInt32(GatewayHandle.from(gateway)?.gateway?.adminPort ?? 0)
}

/// The current metrics; see gateway.h.
@c @implementation
public func sbx_gateway_metrics(
    _ gateway: OpaquePointer?,
    _ done: (@convention(c) (UnsafeMutableRawPointer?, sbx_str) -> Void)?,
    _ context: UnsafeMutableRawPointer?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else { return SBX_E_STOPPING }
    let lent = Lent()
    done?(context, lent.text(running.metricsText))
    return SBX_OK
}

/// The number of waiting deliveries; see gateway.h.
@c @implementation
public func sbx_gateway_waiting(_ gateway: OpaquePointer?) -> UInt64 {
    UInt64(GatewayHandle.from(gateway)?.gateway?.waitingCount ?? 0)
}
