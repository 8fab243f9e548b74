internal import Glibc

/// The clocks of the gateway.
public enum SystemClock {
    /// Milliseconds since 1970.
    public static var unixMs: UInt64 { nanoseconds(CLOCK_REALTIME) / 1_000_000 }
    /// Monotonic nanoseconds.
    public static var monotonicNs: UInt64 { nanoseconds(CLOCK_MONOTONIC) }
    /// Nanoseconds since the machine started, with the time that it was suspended.
    public static var sinceBootNs: UInt64 { nanoseconds(CLOCK_BOOTTIME) }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
