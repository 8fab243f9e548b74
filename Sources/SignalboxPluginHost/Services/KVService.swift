internal import CSignalbox

/// `sbx.kv/1`.
enum KVService {
    static let keyBytesMax = 512
    static let valueBytesMax = 64 * 1024

    static var table: sbx_kv_store {
        var table = sbx_kv_store()
        table.struct_size = UInt32(MemoryLayout<sbx_kv_store>.size)
        table.get = { host, key, done, plugin in
            guard let context = InstanceContext.from(host), let done, !key.isEmpty else {
                return SBX_E_INVALID
            }
            guard key.len <= KVService.keyBytesMax else { return SBX_E_TOO_LARGE }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                PluginFault.status { () throws(PluginFault) in
                    try context.services.value(instance: context.name, key: key.text) { result in
                        answered { KVService.report(result, done, plugin) }
                    }
                }
            }
        }
        table.put = { host, key, value, ttl, done, plugin in
            guard let context = InstanceContext.from(host), !key.isEmpty else {
                return SBX_E_INVALID
            }
            guard key.len <= KVService.keyBytesMax, value.len <= KVService.valueBytesMax else {
                return SBX_E_TOO_LARGE
            }
            return KVService.change(context, key, Array(value.raw), ttl, done, plugin)
        }
        table.remove = { host, key, done, plugin in
            guard let context = InstanceContext.from(host), !key.isEmpty else {
                return SBX_E_INVALID
            }
            guard key.len <= KVService.keyBytesMax else { return SBX_E_TOO_LARGE }
            return KVService.change(context, key, nil, 0, done, plugin)
        }
        return table
    }

    private static func change(
        _ context: InstanceContext, _ key: sbx_str, _ value: [UInt8]?, _ ttlMs: UInt64,
        _ done: sbx_kv_done?, _ plugin: UnsafeMutableRawPointer?
    ) -> sbx_status {
        let plugin = PluginContext(pointer: plugin)
        let expires = ttlMs == 0 ? nil : context.services.nowUnixMs + ttlMs
        return context.answering { answered in
            PluginFault.status { () throws(PluginFault) in
                try context.services.set(
                    instance: context.name, key: key.text, value: value, expiresUnixMs: expires
                ) { result in
                    answered {
                        guard let done else { return }
                        let status = result == nil ? SBX_OK : SBX_E_UNREACHABLE
                        CallScope.run { _ in done(plugin.pointer, status, sbx_str()) }
                    }
                }
            }
        }
    }

    private static func report(
        _ result: Result<[UInt8]?, PluginFault>, _ done: sbx_kv_done, _ plugin: PluginContext
    ) {
        CallScope.run { arena in
            switch result {
            case .success(let bytes?): done(plugin.pointer, SBX_OK, arena.bytes(bytes))
            case .success(nil): done(plugin.pointer, SBX_E_NOT_FOUND, sbx_str())
            case .failure: done(plugin.pointer, SBX_E_UNREACHABLE, sbx_str())
            }
        }
    }
}
