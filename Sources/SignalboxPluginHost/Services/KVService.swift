internal import CSignalbox
internal import SignalboxCore

/// `sbx.kv/1`.
package enum KVService {
    static let keyBytesMax = 512
    static let valueBytesMax = 64 * 1024
    /// Most keys in a page.
    static let pageMax: UInt32 = 256

    static var table: sbx_kv_store {
        var table = sbx_kv_store()
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
        table.list = { host, prefix, after, most, done, plugin in
            guard let context = InstanceContext.from(host), let done,
                (1...KVService.pageMax).contains(most)
            else { return SBX_E_INVALID }
            guard max(prefix.len, after.len) <= KVService.keyBytesMax else {
                return SBX_E_TOO_LARGE
            }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                PluginFault.status { () throws(PluginFault) in
                    try context.services.keys(
                        instance: context.name, prefix: prefix.text, after: after.text,
                        limit: Int(most)
                    ) { result in
                        answered { KVService.report(result, done, plugin) }
                    }
                }
            }
        }
        table.replace = { host, key, expected, value, ttl, done, plugin in
            let bytes = [expected, value].map { $0.map { Array($0.pointee.raw) } }
            guard bytes.allSatisfy({ ($0?.count ?? 0) <= KVService.valueBytesMax }) else {
                return SBX_E_TOO_LARGE
            }
            let edit = KeyValueEdit.replace(
                expected: bytes[0], value: bytes[1], forMs: KVService.life(ttl))
            let plugin = PluginContext(pointer: plugin)
            return KVService.edit(host, key, edit) { result in
                guard let done else { return }
                CallScope.run { arena in
                    let edited = try? result.get()
                    let status =
                        switch edited {
                        case nil: SBX_E_UNREACHABLE
                        case let edited? where edited.isDone: SBX_OK
                        case let edited?: edited.value == nil ? SBX_E_NOT_FOUND : SBX_E_AGAIN
                        }
                    done(plugin.pointer, status, edited?.value.map(arena.bytes) ?? sbx_str())
                }
            }
        }
        table.add = { host, key, amount, ttl, done, plugin in
            let edit = KeyValueEdit.add(amount, forMs: KVService.life(ttl))
            let plugin = PluginContext(pointer: plugin)
            return KVService.edit(host, key, edit) { result in
                guard let done else { return }
                CallScope.run { _ in
                    let edited = try? result.get()
                    let sum = edited?.value.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
                    let isDone = edited?.isDone == true
                    let status =
                        edited == nil ? SBX_E_UNREACHABLE : isDone ? SBX_OK : SBX_E_INVALID
                    done(plugin.pointer, status, isDone ? sum ?? 0 : 0)
                }
            }
        }
        return table
    }

    private static func edit(
        _ host: UnsafePointer<sbx_host>?, _ key: sbx_str, _ edit: KeyValueEdit,
        _ report: @escaping @Sendable (Result<KeyValueEdited, PluginFault>) -> Void
    ) -> sbx_status {
        guard let context = InstanceContext.from(host), !key.isEmpty else { return SBX_E_INVALID }
        guard key.len <= keyBytesMax else { return SBX_E_TOO_LARGE }
        return context.answering { answered in
            PluginFault.status { () throws(PluginFault) in
                try context.services.edit(instance: context.name, key: key.text, edit) { result in
                    answered { report(result) }
                }
            }
        }
    }

    private static func report(
        _ result: Result<[String], PluginFault>, _ done: sbx_kv_listed, _ plugin: PluginContext
    ) {
        CallScope.run { arena in
            guard let keys = try? result.get() else {
                done(plugin.pointer, SBX_E_UNREACHABLE, nil, 0)
                return
            }
            let list = arena.array(sbx_str.self, count: keys.count)
            for (index, key) in keys.enumerated() { list[index] = arena.text(key) }
            done(plugin.pointer, SBX_OK, UnsafePointer(list), keys.count)
        }
    }

    /// A hundred years, so that sums with them fit into their numbers.
    package static let lifeMsMax: UInt64 = 3_155_760_000_000

    /// How long a value is kept; nil if it never expires.
    static func life(_ ttlMs: UInt64) -> UInt64? { ttlMs == 0 ? nil : min(ttlMs, lifeMsMax) }

    private static func change(
        _ context: InstanceContext, _ key: sbx_str, _ value: [UInt8]?, _ ttlMs: UInt64,
        _ done: sbx_kv_done?, _ plugin: UnsafeMutableRawPointer?
    ) -> sbx_status {
        let plugin = PluginContext(pointer: plugin)
        let expires = life(ttlMs).map { context.services.nowUnixMs + $0 }
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
