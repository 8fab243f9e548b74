/// A struct that plugins hand to the host: it begins with its size, and may grow.
package protocol PluginStruct {
    /// Its name in the headers.
    static var name: String { get }
    /// Its `sizeof` in contract 1.`minor`.
    static func size(minor: UInt32) -> Int
    /// The size that the plugin set.
    var struct_size: UInt32 { get }
}
