package import SignalboxPluginHost

/// Host services without a gateway, for measurements of a plugin's calls.
package enum MeasuredServices {
    /// Makes them.
    package static func make() -> any HostServices { CheckServices(answers: []) }
}
