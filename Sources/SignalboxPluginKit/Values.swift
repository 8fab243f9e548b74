internal import CSignalbox

/// Durable values of the instance, in the gateway's store.
///
/// Each call ends with its closure, once, on a worker thread. If the host rejects a call, the closure gets the
/// error before the call returns.
extension Host {
    /// The value of a key; nil if the key is missing.
    public func value(_ key: String, then done: @escaping Later<[UInt8]?>) {
        let read = { (status: sbx_status, value: [UInt8]) -> Result<[UInt8]?, PluginError> in
            status == SBX_E_NOT_FOUND ? .success(nil) : Self.result(status, value)
        }
        send(done, read) { context, arena in
            services.kv.get?(raw, arena.text(key), Self.valueDone, context)
        }
    }

    /// Stores a value, or removes it if nil; the change is durable once `done` gets a success.
    ///
    /// A `ttlMs` of 0 keeps it forever.
    public func set(
        _ key: String, _ value: [UInt8]?, ttlMs: UInt64 = 0, then done: @escaping Later<Void>
    ) {
        send(done, { (status, _: [UInt8]) in Self.result(status, ()) }) { context, arena in
            guard let value else {
                return services.kv.remove?(raw, arena.text(key), Self.valueDone, context)
            }
            return services.kv.put?(
                raw, arena.text(key), arena.bytes(value), ttlMs, Self.valueDone, context)
        }
    }

    /// Up to 256 keys that begin with `prefix` and follow `after`, in byte order.
    ///
    /// For the next page, `after` is the last key of this one; a page with fewer than `most` keys is the last.
    public func keys(
        prefix: String = "", after: String = "", most: UInt32 = 256,
        then done: @escaping Later<[String]>
    ) {
        send(done, Self.result) { context, arena in
            services.kv.list?(
                raw, arena.text(prefix), arena.text(after), most,
                { context, status, keys, count in
                    let list = (0..<count).compactMap { keys?[$0].text }
                    Pending.end(context, status, list)
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
        let read = { (status: sbx_status, value: [UInt8]) -> Result<Replaced, PluginError> in
            switch status {
            case SBX_E_AGAIN: .success(.other(value))
            case SBX_E_NOT_FOUND: .success(.other(nil))
            default: Self.result(status, .done)
            }
        }
        send(done, read) { context, arena in
            func optional(_ bytes: [UInt8]?) -> UnsafePointer<sbx_str>? {
                guard let bytes else { return nil }
                let out = arena.array(sbx_str.self, 1)
                out.pointee = arena.bytes(bytes)
                return UnsafePointer(out)
            }
            return services.kv.replace?(
                raw, arena.text(key), optional(expected), optional(value), ttlMs, Self.valueDone,
                context)
        }
    }

    /// Adds to a counter in one step, and gives the sum.
    ///
    /// The first addition makes it with this `ttlMs`; later ones leave its end as it is. Fails with `invalid` if what is
    /// stored is no counter.
    public func add(
        _ amount: Int64, to key: String, ttlMs: UInt64 = 0, then done: @escaping Later<Int64>
    ) {
        send(done, Self.result) { context, arena in
            services.kv.add?(
                raw, arena.text(key), amount, ttlMs, { Pending.end($0, $1, $2) }, context)
        }
    }

    private static let valueDone: sbx_kv_done = { context, status, value in
        Pending.end(context, status, Array(value.raw))
    }
}
