/// Small durable values of plugins, with one namespace per instance.
public protocol KeyValueStore: Sendable {
    /// The value of a key, or nil.
    ///
    /// `done` is called on a thread of the store.
    func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void)
    /// All keys of an instance with their values; ask it only of instances that have few.
    ///
    /// `done` is called on a thread of the store.
    func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void)
    /// Stores a value, for this many milliseconds or, if nil, without end; a nil value removes the key.
    ///
    /// `done` is called on a thread of the store, once the value is on disk.
    func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    )
    /// Keys of an instance that begin with `prefix` and come behind `after`, in the order of their bytes, at most
    /// `limit`.
    ///
    /// `done` is called on a thread of the store.
    func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void)
    /// Changes a value in dependence of what is stored.
    ///
    /// `done` is called on a thread of the store, once the value is on disk.
    func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void)
}

/// A failed store operation.
public struct StoreFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// A message for the log.
    public let message: String

    /// Makes a failure.
    public init(message: String) { self.message = message }

    /// The message.
    public var description: String { message }

    /// The limit of waiting deliveries is reached.
    public static let full = StoreFailure(message: StoreAnswer.full.words)
}
