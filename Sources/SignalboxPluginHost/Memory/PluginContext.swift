/// A pointer that a plugin wants back, on whatever thread.
///
/// `@unchecked Sendable`: the host never looks at what it points to; the contract says which thread
/// the plugin gets it back on.
struct PluginContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}
