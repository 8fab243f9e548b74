internal import CSignalbox

/// `sbx.clock/1`.
enum ClockService {
    static var table: sbx_clock {
        var table = sbx_clock()
        table.struct_size = UInt32(MemoryLayout<sbx_clock>.size)
        table.unix_ms = { host in InstanceContext.from(host)?.services.nowUnixMs ?? 0 }
        return table
    }
}
