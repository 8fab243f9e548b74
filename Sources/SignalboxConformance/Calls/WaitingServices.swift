internal import CSignalbox

/// Services with callbacks, or whose functions are bound to certain threads.
enum WaitingServices {
    private static let realCredential = ProbedServices.real(
        SBX_SVC_CREDENTIAL, sbx_credential.self)
    static var credential: sbx_credential {
        var table = realCredential
        table.define = { host, name, interval, refresh in
            guard HostProbe.note(host, SBX_SVC_CREDENTIAL, "define", .control) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realCredential.define(host, name, interval, refresh)
        }
        table.set = { host, name, value, refreshMs, expiresMs in
            guard HostProbe.note(host, SBX_SVC_CREDENTIAL, "set", .refresh) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realCredential.set(host, name, value, refreshMs, expiresMs)
        }
        table.get = { host, name, value in
            guard HostProbe.note(host, SBX_SVC_CREDENTIAL, "get", .call) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realCredential.get(host, name, value)
        }
        return table
    }

    private static let realHTTP = ProbedServices.real(SBX_SVC_HTTP, sbx_http.self)
    static var http: sbx_http {
        var table = realHTTP
        table.submit = { host, call, done, context in
            guard HostProbe.note(host, SBX_SVC_HTTP, "submit", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realHTTP.submit(host, call, done, context)
        }
        table.call = { host, call, done, context in
            guard HostProbe.note(host, SBX_SVC_HTTP, "call", .control) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realHTTP.call(host, call, done, context)
        }
        return table
    }

    private static let realKV = ProbedServices.real(SBX_SVC_KV, sbx_kv_store.self)
    static var kv: sbx_kv_store {
        var table = realKV
        table.get = { host, key, done, context in
            guard HostProbe.note(host, SBX_SVC_KV, "get", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realKV.get(host, key, done, context)
        }
        table.put = { host, key, value, ttl, done, context in
            guard HostProbe.note(host, SBX_SVC_KV, "put", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realKV.put(host, key, value, ttl, done, context)
        }
        table.remove = { host, key, done, context in
            guard HostProbe.note(host, SBX_SVC_KV, "remove", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realKV.remove(host, key, done, context)
        }
        return table
    }

    private static let realRegistry = ProbedServices.real(SBX_SVC_REGISTRY, sbx_registry.self)
    static var registry: sbx_registry {
        var table = realRegistry
        table.devices = { host, app, user, done, context in
            guard HostProbe.note(host, SBX_SVC_REGISTRY, "devices", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realRegistry.devices(host, app, user, done, context)
        }
        table.find = { host, app, token, done, context in
            guard HostProbe.note(host, SBX_SVC_REGISTRY, "find", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realRegistry.find(host, app, token, done, context)
        }
        table.change = { host, change, done, context in
            guard HostProbe.note(host, SBX_SVC_REGISTRY, "change", .any) != nil else {
                return SBX_E_INVALID
            }
            return WaitingServices.realRegistry.change(host, change, done, context)
        }
        return table
    }
}

/// `sbx.json/1`: most of its functions get no host, so the thread alone tells.
enum JSONProbe {
    private static let real = ProbedServices.real(SBX_SVC_JSON, sbx_json.self)

    private static func check(_ function: String) {
        HostProbe.check("\(SBX_SVC_JSON) \(function)()", .call)
    }

    static var table: sbx_json {
        var table = real
        table.parse = { host, text, root, error in
            guard HostProbe.note(host, SBX_SVC_JSON, "parse", .call) != nil else {
                return SBX_E_INVALID
            }
            return JSONProbe.real.parse(host, text, root, error)
        }
        table.at = { value, pointer, out in
            JSONProbe.check("at")
            return JSONProbe.real.at(value, pointer, out)
        }
        table.kind = { value in
            JSONProbe.check("kind")
            return JSONProbe.real.kind(value)
        }
        table.string = { value, out in
            JSONProbe.check("string")
            return JSONProbe.real.string(value, out)
        }
        table.integer = { value, out in
            JSONProbe.check("integer")
            return JSONProbe.real.integer(value, out)
        }
        table.boolean = { value, out in
            JSONProbe.check("boolean")
            return JSONProbe.real.boolean(value, out)
        }
        table.text = { value, out in
            JSONProbe.check("text")
            return JSONProbe.real.text(value, out)
        }
        table.count = { value in
            JSONProbe.check("count")
            return JSONProbe.real.count(value)
        }
        table.first = { value, cursor in
            JSONProbe.check("first")
            return JSONProbe.real.first(value, cursor)
        }
        table.next = { cursor, key, value in
            JSONProbe.check("next")
            return JSONProbe.real.next(cursor, key, value)
        }
        return table
    }
}
