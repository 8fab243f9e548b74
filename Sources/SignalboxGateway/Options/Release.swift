/// The release of this program.
package enum Release {
    /// The program's version.
    package static let version = "1.0.0"
}
