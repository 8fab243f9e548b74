public import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

// The functions of gateway.h that create, start and stop a gateway; gateway.h documents them.

/// The version of the library; see gateway.h.
@c @implementation
public func sbx_gateway_version() -> UInt32 { SBX_ABI_MAJOR << 16 | SBX_ABI_MINOR }

/// Makes a gateway; see gateway.h.
@c @implementation
public func sbx_gateway_create(
    _ options: UnsafePointer<sbx_gateway_options>?,
    _ gateway: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let options, let gateway else {
        return fail(error, SBX_E_INVALID, "options and gateway must be given")
    }
    // As far as it reaches in contract 1.0.
    let least = MemoryLayout<sbx_gateway_options>.offset(of: \.log_level) ?? 0
    guard options.pointee.struct_size >= least else {
        return fail(
            error, SBX_E_INVALID, sizeFault("sbx_gateway_options", options.pointee.struct_size))
    }
    let raw = known(options, options.pointee.struct_size, sbx_gateway_options())
    guard let read = GatewayOptions(raw) else {
        return fail(error, SBX_E_INVALID, "give config_file or config_text, and not both")
    }
    gateway.pointee = GatewayHandle(read).retained
    return SBX_OK
}

/// Adds a plugin that is linked into the program; see gateway.h.
@c @implementation
public func sbx_gateway_add_plugin(
    _ gateway: OpaquePointer?, _ name: sbx_str, _ entry: sbx_entry_fn?,
    _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let handle = GatewayHandle.from(gateway), let entry, !name.bytes.isEmpty else {
        return fail(error, SBX_E_INVALID, "gateway, name and entry must be given")
    }
    do throws(LoadFault) {
        let isTaken = try handle.addPlugin(
            name.text, entry: unsafeBitCast(entry, to: UnsafeRawPointer.self))
        return isTaken ? SBX_OK : fail(error, SBX_E_INVALID, "the gateway has been started")
    } catch {
        return refuse(error)
    }
    func refuse(_ fault: LoadFault) -> sbx_status { fail(error, SBX_E_INVALID, fault.message) }
}

/// Starts a gateway; see gateway.h.
@c @implementation
public func sbx_gateway_start(
    _ gateway: OpaquePointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let handle = GatewayHandle.from(gateway) else {
        return fail(error, SBX_E_INVALID, "gateway must be given")
    }
    guard let result = handle.start() else {
        return fail(error, SBX_E_INVALID, "the gateway has been started")
    }
    return answer(result, error)
}

/// Applies a changed configuration; see gateway.h.
@c @implementation
public func sbx_gateway_reload(
    _ gateway: OpaquePointer?, _ config_text: sbx_str, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    return answer(reload(running, config_text, isCheck: false).map { _ in }, error)
}

/// The same with a report; see gateway.h.
@c @implementation
public func sbx_gateway_reload_report(
    _ gateway: OpaquePointer?, _ config_text: sbx_str, _ flags: UInt64,
    _ done: (@convention(c) (UnsafeMutableRawPointer?, sbx_str) -> Void)?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    guard let done, flags & ~UInt64(SBX_RELOAD_CHECK) == 0 else {
        return fail(error, SBX_E_INVALID, "done must be given, and flags be 0 or SBX_RELOAD_CHECK")
    }
    let result = reload(running, config_text, isCheck: flags != 0)
    let lent = Lent()
    switch result {
    case .success(let report): done(context, lent.text(report.text))
    case .failure(let fault as ConfigurationError): done(context, lent.text(fault.json))
    case .failure: break
    }
    return answer(result.map { _ in }, error)
}

private func reload(
    _ running: Gateway, _ config_text: sbx_str, isCheck: Bool
) -> Result<ReloadReport, any Error> {
    let text = config_text.bytes.isEmpty ? nil : config_text.text
    return Blocking.value {
        do {
            return .success(
                isCheck
                    ? try await running.reloadCheck(text: text)
                    : try await running.reload(text: text))
        } catch {
            return .failure(error)
        }
    }
}

/// Turns the errors of start and reload into a status.
private func answer(
    _ result: Result<Void, any Error>, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard case .failure(let fault) = result else { return SBX_OK }
    switch fault {
    case let fault as ConfigurationError:
        return fail(
            error, SBX_E_INVALID,
            fault.diagnostics.first?.description ?? "the configuration cannot be used")
    case let fault as ListenError: return fail(error, SBX_E_UNREACHABLE, fault.description)
    case let fault as SubmitError: return fail(error, fault.status, fault.message)
    default: return fail(error, SBX_E_INTERNAL, "\(fault)")
    }
}

/// Stops taking events and waits; see gateway.h.
@c @implementation
public func sbx_gateway_drain(
    _ gateway: OpaquePointer?, _ timeout_ms: UInt32, _ left: UnsafeMutablePointer<UInt64>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else { return SBX_E_STOPPING }
    let waiting = Blocking.value { await running.drain(timeoutMs: UInt64(timeout_ms)) }
    left?.pointee = UInt64(waiting)
    return SBX_OK
}

/// Stops a gateway and frees it; see gateway.h.
@c @implementation
public func sbx_gateway_destroy(_ gateway: OpaquePointer?) {
    guard let gateway else { return }
    GatewayHandle.from(gateway)?.end()
    GatewayHandle.release(gateway)
}
