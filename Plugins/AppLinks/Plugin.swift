public import CSignalbox
import SignalboxPluginKit

/// The files by which iOS and Android let an app open the links of a domain.
final class AppLinks: IngestPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.app-links", version: "1.0.0",
        summary: "apple-app-site-association and assetlinks.json from YAML",
        configSchema: Config.schema)

    private let config: Config

    init(host: Host, config: JSON) throws(PluginError) { self.config = try Config(config) }

    var paths: [IngestPath] {
        config.files.keys.sorted().map { IngestPath($0, methods: ["GET", "HEAD"]) }
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        // The answer itself: Apple and Google follow no redirect.
        try sink.respond(
            200,
            headers: [("content-type", "application/json"), ("cache-control", "max-age=3600")],
            body: request.method == "HEAD" ? [] : config.files[request.path] ?? [])
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(AppLinks.self) }
