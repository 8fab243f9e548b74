public import CSignalbox
import Glibc
import SignalboxPluginKit

/// Appends each notification as a line to a file: a transport of its own.
///
/// It is fast enough for the host's thread. A transport that waits for a network needs a queue and
/// threads of its own, and completes from there.
final class Instance: SendPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "appends bodies to a file",
        configSchema: #"{"type":"object","required":["file"],"properties":{"file":{"type":"string"}}}"#)
    private let host: Host
    private let file: String

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        file = config["file"]?.string ?? ""
    }

    func submit(_ batch: borrowing DeliveryBatch) throws(PluginError) -> Int {
        for index in 0..<batch.count {
            let delivery = batch[index].owned()
            let isWritten = append(delivery.content.body + "\n")
            host.complete(
                delivery.id, isWritten ? Outcome(.delivered, "written") : Outcome(.retry, "disk"))
        }
        return batch.count
    }

    private func append(_ line: String) -> Bool {
        guard let stream = fopen(file, "ae") else { return false }
        let isWritten = fputs(line, stream) >= 0
        return fclose(stream) == 0 && isWritten
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
