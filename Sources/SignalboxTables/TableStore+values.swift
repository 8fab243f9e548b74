public import SignalboxCore

/// Values of plugins.
extension TableStore {
    /// The value of a key, or nil.
    public func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void
    ) {
        read(
            .gateway,
            { link in
                try link.all(
                    ValueTable.get, [.text(instance), .text(key), .number(self.tableNowMs)]
                ) { $0.bytes(0) }.first
            }, done: done)
    }

    /// All keys of an instance with their values.
    public func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void
    ) {
        read(
            .gateway,
            { link in
                try link.all(ValueTable.list, [.text(instance), .number(self.tableNowMs)]) {
                    ($0.text(0), $0.bytes(1))
                }.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }, done: done)
    }

    /// Keeps a value, or removes it.
    public func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let place: [TableValue] = [.text(instance), .text(key)]
        write(
            .gateway,
            { link in
                guard let value else { return try link.send(ValueTable.remove, place) }
                let expires = ValueTable.end(self.tableNowMs, forMs)
                try link.send(ValueTable.put, place + [.bytes(value), .number(expires)])
            }, done: done)
    }

    /// Keys of an instance, in order.
    public func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void
    ) {
        read(
            .gateway,
            { link in
                try link.all(
                    ValueTable.keys,
                    [
                        .text(instance), .text(prefix), .number(self.tableNowMs), .text(after),
                        .number(Int64(limit)),
                    ]
                ) { $0.text(0) }
            }, done: done)
    }

    /// Changes a value in dependence of what is stored.
    public func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void
    ) {
        write(
            .gateway,
            { link in
                try ValueTable.edit(
                    instance: instance, key: key, edit, nowUnixMs: self.tableNowMs, link)
            }, done: done)
    }
}
