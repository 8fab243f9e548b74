internal import CSignalbox
internal import SignalboxPluginHost

// The functions below are C functions, which can only use globals.
private let realLog = ProbedService(SBX_SVC_LOG, sbx_log.self)
private let realMetrics = ProbedService(SBX_SVC_METRICS, sbx_metrics.self)
private let realSecrets = ProbedService(SBX_SVC_SECRETS, sbx_secrets.self)
private let realTimer = ProbedService(SBX_SVC_TIMER, sbx_timer.self)
private let realSign = ProbedService(SBX_SVC_SIGN, sbx_sign.self)
private let realClock = ProbedService(SBX_SVC_CLOCK, sbx_clock.self)
private let realCrypto = ProbedService(SBX_SVC_CRYPTO, sbx_crypto.self)
private let realFit = ProbedService(SBX_SVC_FIT, sbx_fit.self)
private let realCertificates = ProbedService(SBX_SVC_CERTIFICATE, sbx_certificates.self)
private let realCredential = ProbedService(SBX_SVC_CREDENTIAL, sbx_credential.self)
private let realHTTP = ProbedService(SBX_SVC_HTTP, sbx_http.self)
private let realKV = ProbedService(SBX_SVC_KV, sbx_kv_store.self)
private let realRegistry = ProbedService(SBX_SVC_REGISTRY, sbx_registry.self)
private let realScope = ProbedService(SBX_SVC_SCOPE, sbx_scope.self)
private let realJSON = ProbedService(SBX_SVC_JSON, sbx_json.self)

/// The services' tables, which watch their callers.
enum ProbedTables {
    static var log: sbx_log {
        var table = realLog.real
        table.enabled = { host, level in
            realLog.pass(host, "enabled", else: 0) { $0.enabled(host, level) }
        }
        table.write = { host, level, message, fields, count in
            realLog.pass(host, "write", else: ()) { $0.write(host, level, message, fields, count) }
        }
        return table
    }

    static var metrics: sbx_metrics {
        var table = realMetrics.real
        table.counter = { host, name, labels, count in
            realMetrics.pass(host, "counter", else: 0) { $0.counter(host, name, labels, count) }
        }
        table.gauge = { host, name, labels, count in
            realMetrics.pass(host, "gauge", else: 0) { $0.gauge(host, name, labels, count) }
        }
        table.add = { host, handle, delta in
            realMetrics.pass(host, "add", else: ()) { $0.add(host, handle, delta) }
        }
        table.set = { host, handle, value in
            realMetrics.pass(host, "set", else: ()) { $0.set(host, handle, value) }
        }
        return table
    }

    static var secrets: sbx_secrets {
        var table = realSecrets.real
        table.get = { host, name, buffer, length in
            realSecrets.pass(host, "get") { $0.get(host, name, buffer, length) }
        }
        table.watch = { host, name, body, context in
            realSecrets.pass(host, "watch", .control) { $0.watch(host, name, body, context) }
        }
        return table
    }

    static var timer: sbx_timer {
        var table = realTimer.real
        table.after = { host, ms, body, context in
            realTimer.pass(host, "after", else: 0) { $0.after(host, ms, body, context) }
        }
        table.cancel = { host, timer in
            realTimer.pass(host, "cancel", else: ()) { $0.cancel(host, timer) }
        }
        return table
    }

    static var sign: sbx_sign {
        var table = realSign.real
        table.sign = { host, algorithm, key, pointer, data, signature, length, error in
            realSign.pass(host, "sign") {
                $0.sign(host, algorithm, key, pointer, data, signature, length, error)
            }
        }
        table.verify = { host, algorithm, key, pointer, data, signature, error in
            realSign.pass(host, "verify") {
                $0.verify(host, algorithm, key, pointer, data, signature, error)
            }
        }
        table.public_key = { host, key, pointer, form, buffer, length, error in
            realSign.pass(host, "public_key") {
                $0.public_key(host, key, pointer, form, buffer, length, error)
            }
        }
        return table
    }

    static var crypto: sbx_crypto {
        var table = realCrypto.real
        table.digest = { host, hash, data, out, length in
            realCrypto.pass(host, "digest") { $0.digest(host, hash, data, out, length) }
        }
        table.hmac = { host, hash, key, data, out, length, error in
            realCrypto.pass(host, "hmac") { $0.hmac(host, hash, key, data, out, length, error) }
        }
        table.hkdf = { host, hash, key, salt, info, out, length, error in
            realCrypto.pass(host, "hkdf") {
                $0.hkdf(host, hash, key, salt, info, out, length, error)
            }
        }
        table.agree = { host, own, peer, point, shared, error in
            realCrypto.pass(host, "agree") { $0.agree(host, own, peer, point, shared, error) }
        }
        table.seal = { host, key, nonce, added, plain, out, length, error in
            realCrypto.pass(host, "seal") {
                $0.seal(host, key, nonce, added, plain, out, length, error)
            }
        }
        table.open = { host, key, nonce, added, sealed, out, length, error in
            realCrypto.pass(host, "open") {
                $0.open(host, key, nonce, added, sealed, out, length, error)
            }
        }
        table.random = { host, out, length in
            realCrypto.pass(host, "random") { $0.random(host, out, length) }
        }
        table.encode = { host, text, bytes, out, length in
            realCrypto.pass(host, "encode") { $0.encode(host, text, bytes, out, length) }
        }
        table.decode = { host, text, given, out, length in
            realCrypto.pass(host, "decode") { $0.decode(host, text, given, out, length) }
        }
        return table
    }

    static var clock: sbx_clock {
        var table = realClock.real
        table.unix_ms = { host in
            realClock.pass(host, "unix_ms", else: 0) { $0.unix_ms(host) }
        }
        table.utc_offset = { host, zone, ms, seconds in
            realClock.pass(host, "utc_offset") { $0.utc_offset(host, zone, ms, seconds) }
        }
        return table
    }

    static var fit: sbx_fit {
        var table = realFit.real
        table.fit = { host, request, out, error in
            realFit.pass(host, "fit", .call) {
                let status = $0.fit(host, request, out, error)
                // A sender settles such a delivery, so nothing else reveals the fault.
                if status == SBX_E_INVALID, CallScope.current != nil,
                    let note = ThreadNote.current
                {
                    Findings.shared.fail(
                        .payloadsFit,
                        "\(SBX_SVC_FIT) fit() answered INVALID in \(note.name): the payload must be "
                            + "a JSON object, and `shorten` JSON")
                }
                return status
            }
        }
        return table
    }

    static var certificates: sbx_certificates {
        var table = realCertificates.real
        table.read = { host, secret, password, out, error in
            realCertificates.pass(host, "read", .call) {
                $0.read(host, secret, password, out, error)
            }
        }
        return table
    }

    static var credential: sbx_credential {
        var table = realCredential.real
        table.define = { host, name, interval, refresh in
            realCredential.pass(host, "define", .control) {
                $0.define(host, name, interval, refresh)
            }
        }
        table.set = { host, name, value, refreshMs, expiresMs in
            realCredential.pass(host, "set", .refresh) {
                $0.set(host, name, value, refreshMs, expiresMs)
            }
        }
        table.get = { host, name, value in
            realCredential.pass(host, "get", .call) { $0.get(host, name, value) }
        }
        return table
    }

    static var http: sbx_http {
        var table = realHTTP.real
        table.submit = { host, call, done, context in
            realHTTP.pass(host, "submit") { $0.submit(host, call, done, context) }
        }
        table.call = { host, call, done, context in
            realHTTP.pass(host, "call", .control) { $0.call(host, call, done, context) }
        }
        return table
    }

    static var kv: sbx_kv_store {
        var table = realKV.real
        table.get = { host, key, done, context in
            realKV.pass(host, "get") { $0.get(host, key, done, context) }
        }
        table.put = { host, key, value, ttl, done, context in
            realKV.pass(host, "put") { $0.put(host, key, value, ttl, done, context) }
        }
        table.remove = { host, key, done, context in
            realKV.pass(host, "remove") { $0.remove(host, key, done, context) }
        }
        table.list = { host, prefix, after, most, done, context in
            realKV.pass(host, "list") { $0.list(host, prefix, after, most, done, context) }
        }
        table.replace = { host, key, expected, value, ttl, done, context in
            realKV.pass(host, "replace") {
                $0.replace(host, key, expected, value, ttl, done, context)
            }
        }
        table.add = { host, key, amount, ttl, done, context in
            realKV.pass(host, "add") { $0.add(host, key, amount, ttl, done, context) }
        }
        return table
    }

    static var registry: sbx_registry {
        var table = realRegistry.real
        table.devices = { host, app, user, done, context in
            realRegistry.pass(host, "devices") { $0.devices(host, app, user, done, context) }
        }
        table.find = { host, app, token, done, context in
            realRegistry.pass(host, "find") { $0.find(host, app, token, done, context) }
        }
        table.change = { host, change, done, context in
            realRegistry.pass(host, "change") { $0.change(host, change, done, context) }
        }
        return table
    }

    static var json: sbx_json {
        var table = realJSON.real
        table.parse = { host, text, root, error in
            realJSON.pass(host, "parse", .call) { $0.parse(host, text, root, error) }
        }
        table.at = { value, pointer, out in
            realJSON.pass(inCall: "at") { $0.at(value, pointer, out) }
        }
        table.kind = { value in
            realJSON.pass(inCall: "kind") { $0.kind(value) }
        }
        table.string = { value, out in
            realJSON.pass(inCall: "string") { $0.string(value, out) }
        }
        table.integer = { value, out in
            realJSON.pass(inCall: "integer") { $0.integer(value, out) }
        }
        table.boolean = { value, out in
            realJSON.pass(inCall: "boolean") { $0.boolean(value, out) }
        }
        table.text = { value, out in
            realJSON.pass(inCall: "text") { $0.text(value, out) }
        }
        table.count = { value in
            realJSON.pass(inCall: "count") { $0.count(value) }
        }
        table.first = { value, cursor in
            realJSON.pass(inCall: "first") { $0.first(value, cursor) }
        }
        table.next = { cursor, key, value in
            realJSON.pass(inCall: "next") { $0.next(cursor, key, value) }
        }
        return table
    }

    static var scope: sbx_scope {
        var table = realScope.real
        table.enter = { host, body, plugin in
            realScope.pass(host, "enter") { $0.enter(host, body, plugin) }
        }
        return table
    }

    static var endpointHost: sbx_endpoint_host {
        var table = sbx_endpoint_host()
        table.struct_size = UInt32(MemoryLayout<sbx_endpoint_host>.size)
        table.changed = { host in
            HostProbe.note(host, SBX_SVC_ENDPOINT_HOST, "changed", .any) == nil
                ? SBX_E_STOPPING : SBX_OK
        }
        return table
    }

    /// `sbx.observe-host/1`, which leads to the instance's answers.
    static var observeHost: sbx_observe_host {
        var table = sbx_observe_host()
        table.struct_size = UInt32(MemoryLayout<sbx_observe_host>.size)
        table.done = { host, sequence, status, _ in
            HostProbe.note(host, SBX_SVC_OBSERVE_HOST, "done", .any)?
                .answers.add(sequence, status)
        }
        return table
    }

    /// `sbx.source-host/1`, which leads to the instance's batch book.
    static var sourceHost: sbx_source_host {
        var table = sbx_source_host()
        table.struct_size = UInt32(MemoryLayout<sbx_source_host>.size)
        table.emit = { host, token, events, count, stride in
            guard let probe = HostProbe.note(host, SBX_SVC_SOURCE_HOST, "emit", .any) else {
                return SBX_E_STOPPING
            }
            return probe.batches.emit(token, events, count, stride, probe.bare)
        }
        table.condition = { host, _, _ in
            HostProbe.note(host, SBX_SVC_SOURCE_HOST, "condition", .any) == nil
                ? SBX_E_STOPPING : SBX_OK
        }
        return table
    }

    /// `sbx.send-host/1`, which leads to the instance's flight book.
    static var sendHost: sbx_send_host {
        var table = sbx_send_host()
        table.struct_size = UInt32(MemoryLayout<sbx_send_host>.size)
        table.complete = { host, outcomes, count, stride in
            let probe = HostProbe.note(host, SBX_SVC_SEND_HOST, "complete", .any)
            if let probe { probe.flights.complete(outcomes, count, stride, probe.bare.structs) }
        }
        table.credit = { host, _ in
            HostProbe.note(host, SBX_SVC_SEND_HOST, "credit", .any)?.flights.credit()
        }
        return table
    }
}
