/// The release of this program.
package enum Release {
    /// The program's version.
    package static let version = "0.1.0"
}
