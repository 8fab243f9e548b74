internal import CSignalbox

/// `sbx.clock/1`.
enum ClockService {
    static var table: sbx_clock {
        var table = sbx_clock()
        table.unix_ms = { host in InstanceContext.from(host)?.services.nowUnixMs ?? 0 }
        table.utc_offset = { host, zone, unixMs, out in
            guard let context = InstanceContext.from(host), let out else { return SBX_E_INVALID }
            guard let seconds = context.services.utcOffset(zone: zone.text, unixMs: unixMs) else {
                return SBX_E_NOT_FOUND
            }
            out.pointee = seconds
            return SBX_OK
        }
        return table
    }
}
