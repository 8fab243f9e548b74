/// Small durable values of plugins, a namespace per instance.
public protocol KeyValueStore: Sendable {
    /// The value of a key, or nil.
    ///
    /// `done` is called on a thread of the store.
    func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void)
    /// Keeps a value, for ever or for so many milliseconds; nil removes it.
    ///
    /// `done` is called on a thread of the store, when it is on disk.
    func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
}

/// A store that could not do what it was asked for.
public struct StoreFailure: Error, Sendable, Hashable {
    /// Words for a log.
    public let message: String

    /// Makes a failure.
    public init(message: String) { self.message = message }

    /// As many deliveries wait as may.
    public static let full = StoreFailure(message: StoreAnswer.full.words)
}
