/// What this is a release of.
enum Release {
    /// The program's version.
    static let version = "0.1.0"
}
