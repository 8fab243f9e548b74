internal import CSignalbox

/// `sbx.timer/1`.
enum TimerService {
    static var table: sbx_timer {
        var table = sbx_timer()
        table.after = { host, ms, body, plugin in
            guard let context = InstanceContext.from(host), let body else { return 0 }
            let plugin = PluginContext(pointer: plugin)
            return context.timers.after(ms, services: context.services) { [unowned context] in
                context.working(PluginCalls.callback) { _ in body(plugin.pointer) }
            }
        }
        table.cancel = { host, timer in InstanceContext.from(host)?.timers.cancel(timer) }
        return table
    }
}
