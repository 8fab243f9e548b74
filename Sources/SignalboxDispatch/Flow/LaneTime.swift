/// A moment on both clocks.
///
/// Waits use the steady clock, so that setting the wall clock neither delays nor hurries a lane. Deadlines use the wall
/// clock; what is on disk is due by the store's clock.
public struct LaneTime: Sendable, Equatable {
    /// Milliseconds since 1970.
    public var unixMs: UInt64
    /// Milliseconds of a clock that never goes back.
    public var steadyMs: UInt64

    /// Makes a moment.
    public init(unixMs: UInt64, steadyMs: UInt64) {
        self.unixMs = unixMs
        self.steadyMs = steadyMs
    }
}
