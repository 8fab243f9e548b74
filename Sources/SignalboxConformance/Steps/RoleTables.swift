internal import CSignalbox
internal import SignalboxPluginHost

/// The tables of the roles that a plugin lists.
enum RoleTables {
    /// The roles of today's contract.
    static let known = [
        SBX_ROLE_INGEST, SBX_ROLE_BUILD, SBX_ROLE_SEND_HTTP, SBX_ROLE_SEND, SBX_ROLE_REGISTER,
        SBX_ROLE_SOURCE, SBX_ROLE_OBSERVE, SBX_ROLE_FILTER,
    ]

    static func check(_ plugin: LoadedPlugin, _ findings: Findings) {
        let given = plugin.given.pointee
        for (name, isThere) in [
            ("create", given.create != nil), ("role", given.role != nil),
            ("destroy", given.destroy != nil),
        ] where !isThere { findings.fail(.descriptorTables, "\(name) is NULL") }
        guard given.role != nil else { return }
        let structs = StructReader(minor: given.abi_minor) { fault, call in
            findings.fail(.descriptorTables, fault.words(in: call))
        }
        for role in known {
            findings.doing("asking for the table of \(role)")
            let (first, again) = role.withCString { (given.role($0), given.role($0)) }
            if first != again {
                findings.fail(.descriptorTables, "\(role) has another table each time")
            }
            if plugin.has(role) {
                guard let first else {
                    findings.fail(.descriptorTables, "\(role) is listed, and its table is NULL")
                    continue
                }
                functions(of: role, first, structs, findings)
            } else if first != nil {
                findings.fail(.descriptorTables, "\(role) has a table and is not listed")
            }
        }
        for role in plugin.library.descriptor.roles where ContractID.isForeign(role) {
            findings.doing("asking for the table of \(role)")
            let (first, again) = role.withCString { (given.role($0), given.role($0)) }
            if first == nil {
                findings.fail(.descriptorTables, "\(role) is listed, and its table is NULL")
            } else if first != again {
                findings.fail(.descriptorTables, "\(role) has another table each time")
            }
        }
        if "sbx.role.of-another-time/9".withCString({ given.role($0) }) != nil {
            findings.fail(.descriptorTables, "a role that does not exist has a table")
        }
    }

    private static func functions(
        of role: String, _ raw: UnsafeRawPointer, _ structs: StructReader, _ findings: Findings
    ) {
        func check<Table: PluginStruct>(
            _ type: Table.Type, _ fields: (Table) -> [(String, Bool)]
        ) {
            let read = structs.reading("role(\(role))") { () throws(StructFault) in
                try structs.read(raw.assumingMemoryBound(to: Table.self))
            }
            guard let table = read else { return }
            for (name, isThere) in fields(table) where !isThere {
                findings.fail(.descriptorTables, "\(name) of \(role) is NULL")
            }
        }
        switch role {
        case SBX_ROLE_INGEST:
            check(sbx_ingest.self) {
                [("paths", $0.paths != nil), ("handle", $0.handle != nil)]
            }
        case SBX_ROLE_BUILD: check(sbx_build.self) { [("build", $0.build != nil)] }
        case SBX_ROLE_SEND_HTTP:
            check(sbx_send_http.self) {
                [
                    ("endpoint", $0.endpoint != nil), ("prepare", $0.prepare != nil),
                    ("classify", $0.classify != nil),
                ]
            }
        case SBX_ROLE_SEND: check(sbx_send.self) { [("submit", $0.submit != nil)] }
        case SBX_ROLE_FILTER: check(sbx_filter.self) { [("filter", $0.filter != nil)] }
        case SBX_ROLE_OBSERVE: check(sbx_observe.self) { [("observe", $0.observe != nil)] }
        case SBX_ROLE_SOURCE:
            check(sbx_source.self) {
                [
                    ("resume", $0.resume != nil), ("pause", $0.pause != nil),
                    ("settled", $0.settled != nil),
                ]
            }
        case SBX_ROLE_REGISTER:
            check(sbx_register.self) {
                [
                    ("endpoint", $0.endpoint != nil), ("prepare", $0.prepare != nil),
                    ("classify", $0.classify != nil),
                ]
            }
        default: break
        }
    }
}
