/// What a builder made of an event for its recipients on a route.
public struct BuildResult: Sendable {
    /// Contents with their targets.
    public var contents: [BuiltContent] = []
    /// Recipients that were skipped on purpose or not named.
    public var skips: [FanOut.Skip] = []

    /// Builds nothing.
    public init() {}
}
