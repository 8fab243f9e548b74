internal import CSignalbox

/// Durable values of the instance, in the gateway's store.
///
/// Each call ends with its closure, once, on a worker thread. If the host rejects a call, the closure gets the
/// error before the call returns.
extension Host {
    /// The value of a key; nil if the key is missing.
    public func value(_ key: String, then done: @escaping Later<[UInt8]?>) {
        guard let kv else {
            done(.failure(PluginError(.unsupported, Self.words(SBX_E_UNSUPPORTED))))
            return
        }
        let arena = Arena()
        send(done) { context in
            kv.pointee.get(
                raw, arena.text(key),
                { context, status, value in
                    let pending = Pending<Result<[UInt8]?, PluginError>>.take(context)
                    switch status {
                    case SBX_OK: pending?.body(.success(Array(value.raw)))
                    case SBX_E_NOT_FOUND: pending?.body(.success(nil))
                    default:
                        pending?.body(
                            .failure(PluginError(.init(code: status), Host.words(status))))
                    }
                }, context)
        }
    }

    /// Stores a value, or removes it if nil; the change is durable once `done` gets a success.
    ///
    /// A `ttlMs` of 0 keeps it forever.
    public func set(
        _ key: String, _ value: [UInt8]?, ttlMs: UInt64 = 0, then done: @escaping Later<Void>
    ) {
        guard let kv else {
            done(.failure(PluginError(.unsupported, Self.words(SBX_E_UNSUPPORTED))))
            return
        }
        let arena = Arena()
        let report: sbx_kv_done = { context, status, _ in
            let pending = Pending<Result<Void, PluginError>>.take(context)
            pending?.body(
                status == SBX_OK
                    ? .success(()) : .failure(PluginError(.init(code: status), Host.words(status))))
        }
        send(done) { context in
            guard let value else {
                return kv.pointee.remove(raw, arena.text(key), report, context)
            }
            return kv.pointee.put(
                raw, arena.text(key), arena.bytes(value), ttlMs, report, context)
        }
    }

    /// Up to 256 keys that begin with `prefix` and follow `after`, in byte order.
    ///
    /// For the next page, `after` is the last key of this one; a page with fewer than `most` keys is the last.
    public func keys(
        prefix: String = "", after: String = "", most: UInt32 = 256,
        then done: @escaping Later<[String]>
    ) {
        guard let kv = newKV else { return done(.failure(Self.oldKV)) }
        let arena = Arena()
        send(done) { context in
            kv.list(
                raw, arena.text(prefix), arena.text(after), most,
                { context, status, keys, count in
                    let pending = Pending<Result<[String], PluginError>>.take(context)
                    guard status == SBX_OK else {
                        pending?.body(
                            .failure(PluginError(.init(code: status), Host.words(status))))
                        return
                    }
                    pending?.body(.success((0..<count).compactMap { keys?[$0].text }))
                }, context)
        }
    }

    /// The result of `replace`.
    public enum Replaced: Sendable, Equatable {
        /// The value was stored, or removed.
        case done
        /// Nothing was changed, because the key has this value; nil if it is missing.
        case other([UInt8]?)
    }

    /// Compare and set: if the stored value is `expected` (nil if the key is missing), stores `value`, or removes the
    /// key if `value` is nil. Atomic, also among several gateways with one database.
    public func replace(
        _ key: String, expected: [UInt8]?, with value: [UInt8]?, ttlMs: UInt64 = 0,
        then done: @escaping Later<Replaced>
    ) {
        guard let kv = newKV else { return done(.failure(Self.oldKV)) }
        let arena = Arena()
        func optional(_ bytes: [UInt8]?) -> UnsafePointer<sbx_str>? {
            guard let bytes else { return nil }
            let out = arena.array(sbx_str.self, 1)
            out.pointee = arena.bytes(bytes)
            return UnsafePointer(out)
        }
        send(done) { context in
            kv.replace(
                raw, arena.text(key), optional(expected), optional(value), ttlMs,
                { context, status, value in
                    let pending = Pending<Result<Replaced, PluginError>>.take(context)
                    switch status {
                    case SBX_OK: pending?.body(.success(.done))
                    case SBX_E_AGAIN: pending?.body(.success(.other(Array(value.raw))))
                    case SBX_E_NOT_FOUND: pending?.body(.success(.other(nil)))
                    default:
                        pending?.body(
                            .failure(PluginError(.init(code: status), Host.words(status))))
                    }
                }, context)
        }
    }

    /// Adds to a counter in one step, and gives the sum.
    ///
    /// The first addition makes it with this `ttlMs`; later ones leave its end as it is. Fails with `invalid` if what is
    /// stored is no counter.
    public func add(
        _ amount: Int64, to key: String, ttlMs: UInt64 = 0, then done: @escaping Later<Int64>
    ) {
        guard let kv = newKV else { return done(.failure(Self.oldKV)) }
        let arena = Arena()
        send(done) { context in
            kv.add(
                raw, arena.text(key), amount, ttlMs,
                { context, status, sum in
                    Pending<Result<Int64, PluginError>>.take(context)?.body(
                        status == SBX_OK
                            ? .success(sum)
                            : .failure(PluginError(.init(code: status), Host.words(status))))
                }, context)
        }
    }

    /// The table, if the host's is as new as contract 1.1.
    private var newKV: sbx_kv_store? {
        guard let kv, kv.pointee.struct_size >= UInt32(MemoryLayout<sbx_kv_store>.size) else {
            return nil
        }
        return kv.pointee
    }

    private static var oldKV: PluginError {
        PluginError(.unsupported, "the host's sbx.kv/1 has no list, replace and add")
    }
}
