internal import CSignalbox

/// `sbx.secrets/1`.
enum SecretsService {
    static var table: sbx_secrets {
        var table = sbx_secrets()
        table.get = { host, name, buffer, length in
            guard let context = InstanceContext.from(host), let length else { return SBX_E_INVALID }
            guard let secret = context.secrets.bytes(name.text) else { return SBX_E_NOT_FOUND }
            return SecretsService.copy(secret, to: buffer, length)
        }
        table.watch = { host, name, body, plugin in
            guard let context = InstanceContext.from(host), let body else { return SBX_E_INVALID }
            guard context.isControlCall("watch() of sbx.secrets/1") else { return SBX_E_INVALID }
            let plugin = PluginContext(pointer: plugin)
            let isWatched = context.secrets.watch(name.text) { [unowned context] in
                CallScope.run(of: context.owner) { _ in body(plugin.pointer) }
            }
            return isWatched ? SBX_OK : SBX_E_NOT_FOUND
        }
        return table
    }

    /// Copies bytes out; `length` is the room on entry, and the size of `bytes` on return.
    static func copy(
        _ bytes: [UInt8], to buffer: UnsafeMutableRawPointer?, _ length: UnsafeMutablePointer<Int>
    ) -> sbx_status {
        let room = length.pointee
        length.pointee = bytes.count
        guard bytes.count <= room else { return SBX_E_TOO_LARGE }
        if let buffer { buffer.copyMemory(from: bytes, byteCount: bytes.count) }
        return SBX_OK
    }
}
