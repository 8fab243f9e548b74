extension Device: CustomStringConvertible {
    /// Names the device without its token.
    public var description: String { "device(\(platform), app: \(app), token: <redacted>)" }
}
