internal import CSignalbox
internal import SignalboxCore

/// `sbx.registry/1`.
enum RegistryService {
    static var table: sbx_registry {
        var table = sbx_registry()
        table.devices = { host, app, user, done, plugin in
            guard let context = InstanceContext.from(host), let done, !user.isEmpty else {
                return SBX_E_INVALID
            }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                PluginFault.status { () throws(PluginFault) in
                    try context.services.devices(app: app.text, user: user.text) { result in
                        answered { RegistryService.report(result, done, plugin) }
                    }
                }
            }
        }
        table.find = { host, app, token, done, plugin in
            guard let context = InstanceContext.from(host), let done, !token.isEmpty else {
                return SBX_E_INVALID
            }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                PluginFault.status { () throws(PluginFault) in
                    try context.services.device(app: app.text, token: token.text) { result in
                        let list = result.map { $0.map { [$0] } ?? [] }
                        answered { RegistryService.report(list, done, plugin) }
                    }
                }
            }
        }
        table.change = { host, change, done, plugin in
            guard let context = InstanceContext.from(host), let done, let change else {
                return SBX_E_INVALID
            }
            let structs = context.structs
            let read = structs.reading("change() of sbx.registry/1") { () throws(StructFault) in
                try structs.change(
                    try structs.read(change), nowUnixMs: context.services.nowUnixMs)
            }
            guard case .success(let taken)? = read ?? nil else { return SBX_E_INVALID }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                PluginFault.status { () throws(PluginFault) in
                    try context.services.change(instance: context.name, taken) { fault in
                        let result = fault.map { Result<[Device], PluginFault>.failure($0) }
                        answered { RegistryService.report(result ?? .success([]), done, plugin) }
                    }
                }
            }
        }
        return table
    }

    private static func report(
        _ result: Result<[Device], PluginFault>, _ done: sbx_registry_done, _ plugin: PluginContext
    ) {
        CallScope.run { arena in
            let stride = MemoryLayout<sbx_device>.stride
            guard case .success(let devices) = result else {
                done(plugin.pointer, SBX_E_UNREACHABLE, nil, 0, stride)
                return
            }
            let list = arena.array(sbx_device.self, count: devices.count)
            for (index, device) in devices.enumerated() { arena.write(device, to: list + index) }
            done(plugin.pointer, SBX_OK, UnsafePointer(list), devices.count, stride)
        }
    }
}
