public import CSignalbox
import SignalboxPluginKit

/// Serves the files that let an app open a domain's links on iOS and Android.
final class AppLinks: IngestPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.app-links", version: "1.0.0",
        summary: "apple-app-site-association and assetlinks.json from YAML",
        configSchema: Config.schema)

    private let config: Config

    init(host: Host, config: JSON) throws(PluginError) { self.config = try Config(Keys(config)) }

    var paths: [IngestPath] {
        config.files.keys.sorted().map { IngestPath($0, methods: ["GET", "HEAD"]) }
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        // Answer directly: Apple and Google follow no redirects.
        try sink.respond(
            200,
            headers: [("content-type", "application/json"), ("cache-control", "max-age=3600")],
            body: request.method == "HEAD" ? [] : config.files[request.path] ?? [])
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(AppLinks.self) }
