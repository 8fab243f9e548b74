/// A file of the admin page, as a browser gets it.
public struct PageFile: Sendable {
    /// Under which path it is served.
    public let path: String
    /// Its media type.
    public let type: String
    /// Its content.
    public let bytes: [UInt8]

    /// All files; the page is `/`.
    public static let all = [
        PageFile(
            path: "/", type: "text/html; charset=utf-8", bytes: PackageResources.index_html),
        PageFile(
            path: "/page/style.css", type: "text/css; charset=utf-8",
            bytes: PackageResources.style_css),
        script("app", PackageResources.app_js), script("api", PackageResources.api_js),
        script("dom", PackageResources.dom_js), script("overview", PackageResources.overview_js),
        script("graph", PackageResources.graph_js), script("plots", PackageResources.plots_js),
        script("trace", PackageResources.trace_js), script("dead", PackageResources.dead_js),
        script("try", PackageResources.try_js), script("phones", PackageResources.phones_js),
        script("devices", PackageResources.devices_js),
        script("config", PackageResources.config_js),
    ]

    private static func script(_ name: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(
            path: "/page/\(name).js", type: "text/javascript; charset=utf-8", bytes: bytes)
    }
}
