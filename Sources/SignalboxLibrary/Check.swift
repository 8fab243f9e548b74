public import CSignalbox
internal import Signalbox
internal import SignalboxCore

/// Receives the faults and warnings of a configuration.
public typealias FindingsDone =
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<sbx_finding>?, Int, Int) -> Void

/// Checks a configuration; see gateway.h.
@c @implementation
public func sbx_gateway_check(
    _ gateway: OpaquePointer?, _ config_text: sbx_str, _ done: FindingsDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let handle = GatewayHandle.from(gateway), let done else {
        return fail(error, SBX_E_INVALID, "gateway and done must be given")
    }
    let options = handle.options.with(text: config_text.bytes.isEmpty ? nil : config_text.text)
    let report = Blocking.value { await Gateway.examine(options) }
    let lent = Lent()
    let findings =
        report.faults.map { lent.finding($0, SBX_FINDING_FAULT) }
        + report.warnings.map { lent.finding($0, SBX_FINDING_WARNING) }
    findings.withUnsafeBufferPointer {
        done(context, $0.baseAddress, $0.count, MemoryLayout<sbx_finding>.stride)
    }
    return SBX_OK
}

extension Lent {
    fileprivate func finding(_ found: Diagnostic, _ severity: UInt32) -> sbx_finding {
        sbx_finding(
            struct_size: UInt32(MemoryLayout<sbx_finding>.size), severity: severity,
            line: UInt32(clamping: found.position.line),
            column: UInt32(clamping: found.position.column), file: text(found.position.file),
            code: text(found.code), message: text(found.message))
    }
}
