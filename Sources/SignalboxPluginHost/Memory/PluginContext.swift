/// A pointer that is passed back to the plugin, on any thread.
///
/// `@unchecked Sendable`: the host never dereferences it; the contract says on which thread the plugin
/// gets it back.
struct PluginContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}
