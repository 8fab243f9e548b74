public import CSignalbox
import SignalboxPluginKit

/// LivePerson's push proxy: Conversational Cloud sends pushes to the brand's server, and this plugin sends them
/// to the device with the keys that LivePerson's SDKs read.
final class LivePerson: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.liveperson", version: "1.0.0",
        summary: "LivePerson push proxy in; pushes with the keys of its SDKs out",
        configSchema: Config.schema)

    let host: Host
    let config: Config
    private let refusals: [String: Counter]

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        refusals = Dictionary(
            uniqueKeysWithValues: [Refusal.unknownToken, .loggedOut].map {
                ($0.rawValue, host.counter("pushes_refused_total", [("reason", $0.rawValue)]))
            })
    }

    var paths: [IngestPath] { [IngestPath(config.path)] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        try authenticate(request)
        let json = try host.parse(bodyOf: request)
        let push = try ProxyPush(json, host: host)
        guard config.brandID.isEmpty || push.brandID.isEmpty || push.brandID == config.brandID
        else { throw Fault.otherBrand.error }
        guard config.needsRegistration else {
            try sink.emit(push.event(app: config.app, user: "", locale: ""))
            try sink.respond(200)
            return
        }
        let open = try sink.deferred(timeoutMs: 5_000)
        let app = config.app
        host.device(app: app, token: push.token) { result in
            open.attempt { () throws(PluginError) in
                let device = try result.mapError { PluginError(.again, $0.message) }.get()
                if let refusal = Self.refusal(push, device) {
                    self.refusals[refusal.rawValue]?.add()
                    open.reject(refusal.rawValue, refusal.detail)
                    try open.respond(403)
                } else {
                    try open.emit(
                        push.event(
                            app: device?.app ?? app, user: device?.user ?? "",
                            locale: device?.locale ?? ""))
                    try open.respond(200)
                }
                open.finish()
            }
        }
    }

    /// After a logout from agents, only proactive pushes continue.
    private static func refusal(_ push: ProxyPush, _ device: Device?) -> Refusal? {
        guard let device else { return .unknownToken }
        let isMuted = device.attribute("muted") == "agent"
        return isMuted && push.type == "message.received" ? .loggedOut : nil
    }

    /// Every configured check must pass.
    private func authenticate(_ request: borrowing Request) throws(PluginError) {
        var fits = try config.caller.fits(request, host)
        if !config.certificates.isEmpty {
            fits = fits && config.certificates.contains(request.clientCertificate)
        }
        guard fits else { throw Fault.credentials.error }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(LivePerson.self) }
