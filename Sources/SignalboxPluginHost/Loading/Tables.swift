package import CSignalbox

/// Plugin tables, as `StructReader` reads them; a missing function becomes a stub.
package enum Tables {
    /// The table of the library.
    package static func plugin(_ given: sbx_plugin) -> sbx_plugin {
        var table = given
        if table.create == nil { table.create = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.role == nil { table.role = { _ in nil } }
        if table.start == nil { table.start = { _, _ in SBX_OK } }
        if table.stop == nil { table.stop = { _, _, _ in SBX_OK } }
        if table.destroy == nil { table.destroy = { _ in } }
        return table
    }

    /// The table of the role ingest.
    package static func ingest(_ given: sbx_ingest) -> sbx_ingest {
        var table = given
        if table.paths == nil { table.paths = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.handle == nil { table.handle = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role build.
    package static func build(_ given: sbx_build) -> sbx_build {
        var table = given
        if table.build == nil { table.build = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role filter.
    package static func filter(_ given: sbx_filter) -> sbx_filter {
        var table = given
        if table.filter == nil { table.filter = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role send-http.
    package static func sendHTTP(_ given: sbx_send_http) -> sbx_send_http {
        var table = given
        if table.endpoint == nil { table.endpoint = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.prepare == nil { table.prepare = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.classify == nil { table.classify = { _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role send.
    package static func send(_ given: sbx_send) -> sbx_send {
        var table = given
        if table.submit == nil { table.submit = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role source.
    package static func source(_ given: sbx_source) -> sbx_source {
        var table = given
        if table.resume == nil { table.resume = { _, _, _ in SBX_E_UNSUPPORTED } }
        if table.pause == nil { table.pause = { _, _ in SBX_OK } }
        if table.settled == nil { table.settled = { _, _, _, _ in } }
        return table
    }

    /// The table of the role observe.
    package static func observe(_ given: sbx_observe) -> sbx_observe {
        var table = given
        if table.observe == nil { table.observe = { _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }

    /// The table of the role register.
    package static func register(_ given: sbx_register) -> sbx_register {
        var table = given
        if table.endpoint == nil { table.endpoint = { _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.prepare == nil { table.prepare = { _, _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        if table.classify == nil { table.classify = { _, _, _, _, _, _ in SBX_E_UNSUPPORTED } }
        return table
    }
}
