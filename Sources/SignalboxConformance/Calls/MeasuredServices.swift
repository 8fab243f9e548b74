internal import Signalbox
package import SignalboxPluginHost

/// Host services without a gateway, for measuring a plugin's calls.
package enum MeasuredServices {
    /// Makes host services.
    package static func make() -> any HostServices { OfflineServices(answers: []) }
}
