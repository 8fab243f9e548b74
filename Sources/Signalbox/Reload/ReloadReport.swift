/// What a reload changed.
public struct ReloadReport: Sendable {
    /// Plugin instances that were replaced, added or removed.
    public let changed: [String]
    /// Routes and plugins that the previous configuration had and this one lacks.
    public let removed: [String]
    /// Keys of `gateway:` that differ from what the gateway has started with, and take effect only after a restart.
    public let needRestart: [String]
    /// Previous instances that did not stop in time.
    public let leftBehind: [String]
}
