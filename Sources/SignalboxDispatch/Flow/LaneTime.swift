/// A moment on both clocks.
///
/// Waits are measured on the steady clock: a wall clock that is set must neither hold a lane nor hurry it.
/// Deadlines are on the wall clock; what is on disk is due by the store's.
public struct LaneTime: Sendable, Equatable {
    /// Milliseconds since 1970.
    public var unixMs: UInt64
    /// Milliseconds that never go back.
    public var steadyMs: UInt64

    /// Makes a moment.
    public init(unixMs: UInt64, steadyMs: UInt64) {
        self.unixMs = unixMs
        self.steadyMs = steadyMs
    }
}
