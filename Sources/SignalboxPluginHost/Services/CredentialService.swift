internal import CSignalbox

/// `sbx.credential/1`.
enum CredentialService {
    static var table: sbx_credential {
        var table = sbx_credential()
        table.define = { host, name, interval, refresh in
            guard let context = InstanceContext.from(host), let refresh, !name.isEmpty else {
                return SBX_E_INVALID
            }
            guard context.isControlCall("define() of sbx.credential/1") else {
                return SBX_E_INVALID
            }
            return context.credentials.define(name.text, minIntervalMs: interval, refresh: refresh)
                ? SBX_OK : SBX_E_INVALID
        }
        table.set = { host, name, value, refreshMs, expiresMs in
            guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
            guard context.isControlCall("set() of sbx.credential/1") else {
                return SBX_E_INVALID
            }
            let isKnown = context.credentials.set(
                name.text, value: value.text, refreshMs: refreshMs, expiresMs: expiresMs,
                nowMs: context.services.nowUnixMs)
            return isKnown ? SBX_OK : SBX_E_NOT_FOUND
        }
        table.get = { host, name, value in
            guard let context = InstanceContext.from(host), let scope = CallScope.current, let value
            else { return SBX_E_INVALID }
            switch context.credentials.answer(name.text, nowMs: context.services.nowUnixMs) {
            case nil: return SBX_E_NOT_FOUND
            case .again: return SBX_E_AGAIN
            case .refused: return SBX_E_AUTH
            case .value(let text):
                value.pointee = scope.arena.text(text)
                return SBX_OK
            }
        }
        return table
    }
}
