package import CSignalbox

/// Plugin tables at the size that this host knows: longer ones are cut, shorter ones are filled up
/// with zeros, and a function that is missing becomes a stub that says so.
package enum Tables {
    /// What the library is.
    package static func plugin(_ given: UnsafePointer<sbx_plugin>) -> sbx_plugin {
        var table = sbx_plugin()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.create == nil { table.create = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.role == nil { table.role = { _ in nil } }
        if table.start == nil { table.start = { _, _ in SBX_OK } }
        if table.stop == nil { table.stop = { _, _, _ in SBX_OK } }
        if table.destroy == nil { table.destroy = { _ in } }
        return table
    }

    /// The role ingest.
    package static func ingest(_ given: UnsafePointer<sbx_ingest>) -> sbx_ingest {
        var table = sbx_ingest()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.paths == nil { table.paths = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.handle == nil { table.handle = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The role build.
    package static func build(_ given: UnsafePointer<sbx_build>) -> sbx_build {
        var table = sbx_build()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.build == nil { table.build = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The role send-http.
    package static func sendHTTP(_ given: UnsafePointer<sbx_send_http>) -> sbx_send_http {
        var table = sbx_send_http()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.endpoint == nil { table.endpoint = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.prepare == nil { table.prepare = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.classify == nil { table.classify = { _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The role send.
    package static func send(_ given: UnsafePointer<sbx_send>) -> sbx_send {
        var table = sbx_send()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.submit == nil { table.submit = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The role register.
    package static func register(_ given: UnsafePointer<sbx_register>) -> sbx_register {
        var table = sbx_register()
        copy(given, size: given.pointee.struct_size, to: &table)
        if table.endpoint == nil { table.endpoint = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.prepare == nil { table.prepare = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.classify == nil { table.classify = { _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// Copies what both sides know of a struct that begins with its size.
    package static func copy<Table: BitwiseCopyable>(
        _ given: UnsafePointer<Table>, size: UInt32, to table: inout Table
    ) {
        let known = min(Int(size), MemoryLayout<Table>.size)
        withUnsafeMutableBytes(of: &table) { target in
            target.copyMemory(from: UnsafeRawBufferPointer(start: given, count: known))
        }
    }
}
