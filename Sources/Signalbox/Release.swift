/// The release of this program.
enum Release {
    /// The program's version.
    static let version = "0.1.0"
}
