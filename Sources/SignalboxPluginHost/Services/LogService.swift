internal import CSignalbox
internal import SignalboxCore

/// `sbx.log/1`.
enum LogService {
    private static let bytesMax = 4096

    static var table: sbx_log {
        var table = sbx_log()
        table.enabled = { host, level in
            guard let context = InstanceContext.from(host),
                let level = PluginLogLevel(rawValue: level)
            else { return 0 }
            return context.services.isLogged(level) ? 1 : 0
        }
        table.write = { host, level, message, fields, count in
            guard let context = InstanceContext.from(host) else { return }
            let level = PluginLogLevel(rawValue: level) ?? .error
            guard context.services.isLogged(level), context.mayLog() else { return }
            var left = LogService.bytesMax
            func cut(_ text: String) -> String {
                let part = text.utf8.count <= left ? text : String(text.prefix(left))
                left = max(0, left - part.utf8.count)
                return part
            }
            let words = cut(message.text)
            let attributes = KeyValues.copy(fields, count).map {
                Attribute(cut($0.key), cut($0.value))
            }
            context.services.log(
                instance: context.name, level: level, message: words, fields: attributes)
        }
        return table
    }
}
