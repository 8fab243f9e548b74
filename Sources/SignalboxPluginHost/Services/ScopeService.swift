internal import CSignalbox

/// `sbx.scope/1`.
enum ScopeService {
    static var table: sbx_scope {
        var table = sbx_scope()
        table.enter = { host, body, plugin in
            guard let context = InstanceContext.from(host), let body else { return SBX_E_INVALID }
            guard context.calls.enter() else { return SBX_E_STOPPING }
            defer { context.calls.leave() }
            CallScope.run(of: context.owner) { _ in body(plugin) }
            return SBX_OK
        }
        return table
    }
}
