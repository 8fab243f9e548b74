public import CSignalbox
import Glibc
import SignalboxPluginKit

/// Appends each outcome as a line of JSON to a file.
///
/// It is fast enough for the host's thread. A bus or a database needs a queue and a thread of its own, and calls
/// `observed` from there.
final class Instance: ObservePlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "appends outcomes to a file",
        configSchema: #"{"type":"object","required":["file"],"properties":{"file":{"type":"string"}}}"#,
        needsMinor: 1)
    private let host: Host
    private let file: String

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        file = config["file"]?.string ?? ""
    }

    func observe(_ batch: [Observation]) throws(PluginError) {
        guard let last = batch.last else { return }
        // What is answered without an error never comes again, so it must be written first.
        let isWritten = append(batch.map { $0.json + "\n" }.joined())
        host.observed(
            last.sequence, error: isWritten ? nil : PluginError(.again, "the file cannot be written"))
    }

    private func append(_ lines: String) -> Bool {
        guard let stream = fopen(file, "ae") else { return false }
        let isWritten = fputs(lines, stream) >= 0
        return fclose(stream) == 0 && isWritten
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
