internal import CSignalbox

/// What happened to a device.
public enum ChangeKind: UInt32, Sendable {
    /// It was registered, for the first time or again.
    case registered = 1
    /// The user or the app unregistered it.
    case unregistered
    /// A provider said that its token is dead.
    case invalid
    /// A dry run of this plugin's event reached it.
    case proven
    /// That dry run failed for good.
    case unproven
}

/// Changes of devices; valid during `prepare`.
public struct ChangeBatch: ~Copyable {
    /// One change, copied.
    public struct Change: Sendable {
        /// The id to name in requests and outcomes.
        public var id: UInt64
        /// What happened; nil for a kind that this plugin is too old to know.
        public var kind: ChangeKind?
        /// When, in Unix milliseconds.
        public var timeUnixMs: UInt64
        /// The device.
        public var device: Device
        /// The provider's reason.
        public var reason: String
        /// Subject of the event that asked for the dry run.
        public var subject: String

        /// The device's token exactly as the source delivered it.
        public var sourceToken: String {
            device.sourceToken.isEmpty ? device.token : device.sourceToken
        }
    }

    private let raw: UnsafePointer<sbx_change>?
    private let stride: Int
    /// The number of changes.
    public let count: Int

    /// The app of all their devices; empty for the default app.
    public let app: String

    init(_ raw: UnsafePointer<sbx_change>?, count: Int, stride: Int, app: String) {
        self.app = app
        self.raw = raw
        self.count = raw == nil ? 0 : count
        self.stride = stride
    }

    /// A change.
    public subscript(index: Int) -> Change {
        precondition(index >= 0 && index < count, "there is no such change")
        guard let change = raw?.element(index, stride).known(sbx_change()) else {
            preconditionFailure("an empty batch has no changes")
        }
        return Change(
            id: change.id, kind: ChangeKind(rawValue: change.kind),
            timeUnixMs: change.time_unix_ms, device: Device(change.device),
            reason: change.reason.text, subject: change.subject.text)
    }
}
