/// A struct that plugins hand to the host: it begins with its size, and may grow.
package protocol PluginStruct {
    /// Its name in the headers.
    static var name: String { get }
    /// `sizeof` it in contract 1.`minor`.
    static func size(minor: UInt32) -> Int
    /// What the plugin says.
    var struct_size: UInt32 { get }
}
